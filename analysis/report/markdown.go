package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
)

// Markdown writes the report for a pull request.
func Markdown(out io.Writer, r *analysis.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## doubletake: %s\n\n", r.Verdict)
	fmt.Fprintf(&b, "%s against %s, set %s %s (%s, %s), run `%s`\n\n", escape(r.Candidate), escape(r.Baseline), escape(r.Set.Name), escape(r.Set.Version), Plural(r.Set.Fixtures, "fixture"), Plural(r.Set.Items, "item"), r.Run)
	fmt.Fprintf(&b, "%s\n\n", escape(modeLine(r)))
	for _, why := range r.Why {
		fmt.Fprintf(&b, "- %s\n", escape(why))
	}
	if lines := ReviewLines(r); len(lines) > 0 {
		b.WriteString("\n### Review\n\n")
		for _, line := range lines {
			fmt.Fprintf(&b, "- %s\n", escape(line))
		}
	}
	if len(r.Disagreements) > 0 {
		fmt.Fprintf(&b, "\n### Disagreements: %d of %s\n\n", len(r.Disagreements), Plural(r.Pairs.Total, "pair"))
		b.WriteString("| | conversation | items lost | what happened |\n|---|---|---|---|\n")
	} else {
		fmt.Fprintf(&b, "\nDisagreements: none in %s\n", Plural(r.Pairs.Total, "pair"))
	}
	for _, d := range worstFirst(r.Disagreements) {
		var items []string
		for _, item := range d.Items {
			items = append(items, escape(fate(r, item)))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cellWord(d.Critical, d.Cell), escape(d.ID), strings.Join(items, "<br>"), escape(Shorten(strings.Join(d.Checks, "; "), 300)))
	}
	b.WriteString("\n### Gates\n\n| gate | candidate | incumbent | floor | status |\n|---|---|---|---|---|\n")
	for _, g := range r.Gates {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", escape(g.Name), gateValue(g, g.Value), gateValue(g, g.Incumbent), escape(gateFloor(g)), g.Status)
	}
	b.WriteString("\n<details><summary>Items, test and cost</summary>\n\n| class | verbatim | supported | absent | contradicted | unscored | total |\n|---|---|---|---|---|---|---|\n")
	for _, class := range fixtures.Classes() {
		c := r.Items[class]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", class, c.Verbatim, c.Supported, c.Absent, c.Contradicted, c.Unscored, c.Total)
	}
	b.WriteString(markdownTable(movesTitle(r), movesTable(r)))
	b.WriteString(markdownTable(divergenceTitle(r), divergenceTable(r)))
	b.WriteString("\n")
	if line := identicalLine(r); line != "" {
		fmt.Fprintf(&b, "- %s\n", escape(line))
	}
	for _, line := range append(testLines(r), controlLines(r)...) {
		fmt.Fprintf(&b, "- %s\n", escape(line))
	}
	for _, n := range r.NotPaired {
		fmt.Fprintf(&b, "- %s %s: %s\n", n.Cell, escape(n.ID), escape(Shorten(n.Reason, 300)))
	}
	rubricMarkdown(&b, r)
	fmt.Fprintf(&b, "- %s asked for, %d from the cache, %s\n", Plural(r.Usage.Requests, "answer"), r.Usage.Cached, Plural(r.Usage.PromptTokens, "prompt token"))
	for _, line := range rateLines(r) {
		fmt.Fprintf(&b, "- task success (no gate): %s\n", escape(line))
	}
	b.WriteString("\n</details>\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// escape makes text from a recording plain in Markdown and in the HTML that
// Markdown lets through.
func escape(text string) string {
	return strings.NewReplacer(
		"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "#", "\\#", "~", "\\~", "@", "&#64;",
	).Replace(Clean(text))
}
