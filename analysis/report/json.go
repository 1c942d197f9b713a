package report

import (
	"encoding/json"
	"io"

	"github.com/doubletake-dev/doubletake/analysis"
)

// JSON writes the report as indented JSON: the same bytes as report.json.
func JSON(out io.Writer, r *analysis.Report) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}
