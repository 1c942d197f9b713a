package report

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// GateSummary writes what gate printed for the summary of a job in GitHub Actions: the
// result as a heading, and the lines as they are. The report of the run is not among them.
func GateSummary(out io.Writer, result, text string) error {
	lines := strings.ReplaceAll(html.EscapeString(text), "@", "&#64;") // nobody is mentioned
	_, err := fmt.Fprintf(Printable(out), "### doubletake gate: %s\n\n<pre>\n%s</pre>\n", escape(result), lines)
	if err != nil {
		return fmt.Errorf("writing the summary of the gates: %w", err)
	}
	return nil
}
