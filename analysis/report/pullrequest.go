package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
)

// How much a comment shows. GitHub takes comments of up to 65536 characters.
const (
	commentBytes = 60_000
	mostWhy      = 5
	mostRows     = 10
)

// PullRequest writes the report for a comment on a pull request or the summary of a job:
// the verdict, why, the worst disagreements with item and turn, the gates that do not
// pass, and under a fold the rest. It stays below the size that GitHub takes.
func PullRequest(out io.Writer, r *analysis.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## doubletake: %s\n\n", strings.ReplaceAll(string(r.Verdict), "_", " "))
	fmt.Fprintf(&b, "**%s** against **%s**: %s and %s in %s of the set %s %s\n\n", escape(r.Candidate), escape(r.Baseline),
		Plural(r.Pairs.Losses, "loss"), Plural(r.Pairs.Gains, "gain"), Plural(r.Pairs.Total, "pair"), escape(r.Set.Name), escape(r.Set.Version))
	for i, why := range r.Why {
		if i == mostWhy {
			fmt.Fprintf(&b, "- and %d more\n", len(r.Why)-mostWhy)
			break
		}
		fmt.Fprintf(&b, "- %s\n", escape(Shorten(why, 300)))
	}
	b.WriteString(disagreementRows(r))
	b.WriteString(openGates(r))
	var whole strings.Builder
	if err := Markdown(&whole, r); err != nil {
		return err
	}
	_, rest, _ := strings.Cut(whole.String(), "\n") // its heading stands above
	if b.Len()+len(rest) < commentBytes {
		fmt.Fprintf(&b, "\n<details><summary>The whole report of run %s</summary>\n%s\n</details>\n", escape(r.Run), rest)
	} else {
		fmt.Fprintf(&b, "\nThe whole report is too long for a comment: see report.md and report.html of run %s.\n", escape(r.Run))
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("writing the report for a pull request: %w", err)
	}
	return nil
}

// disagreementRows are the worst disagreements; empty without any.
func disagreementRows(r *analysis.Report) string {
	if len(r.Disagreements) == 0 {
		return ""
	}
	rows := [][]string{{"", "conversation", "item and turn", "what happened"}}
	list := worstFirst(r.Disagreements)
	for i := range list[:min(len(list), mostRows)] {
		d := &list[i]
		rows = append(rows, []string{cellWord(d.Critical, d.Cell), d.ID, lostItems(d), happened(d)})
	}
	out := markdownTable("Disagreements", rows)
	if more := len(list) - mostRows; more > 0 {
		out += fmt.Sprintf("\nand %d more\n", more)
	}
	return out
}

// lostItems names the first items that the candidate lost, those turned around first.
func lostItems(d *analysis.Disagreement) string {
	const most, width = 2, 70
	lost := slices.DeleteFunc(slices.Clone(d.Items), func(f pairing.ItemFate) bool { return !f.Lost() })
	slices.SortStableFunc(lost, func(a, b pairing.ItemFate) int {
		return cmp.Compare(string(b.Second), string(a.Second)) // contradicted before absent
	})
	var items []string
	for i, f := range lost {
		if i == most {
			items = append(items, fmt.Sprintf("and %d more", len(lost)-most))
			break
		}
		items = append(items, fmt.Sprintf("%s of turn %d %s: %s", f.ID, f.Turn, f.Second, Shorten(f.Literal, width)))
	}
	return strings.Join(items, "; ")
}

// happened says where the arms part and what failed.
func happened(d *analysis.Disagreement) string {
	var parts []string
	if d.Turn > 0 {
		parts = append(parts, fmt.Sprintf("they part at turn %d", d.Turn))
	}
	if len(d.Checks) > 0 {
		parts = append(parts, Shorten(d.Checks[0], 120))
	}
	return strings.Join(parts, ": ")
}

// openGates are the rows that do not pass; a line where all do.
func openGates(r *analysis.Report) string {
	rows := gateTable(r)
	head := rows[0]
	rows = slices.DeleteFunc(rows[1:], func(row []string) bool { return row[4] == string(analysis.GatePass) })
	if len(rows) == 0 {
		return fmt.Sprintf("\nAll %d gates pass.\n", len(r.Gates))
	}
	return markdownTable(fmt.Sprintf("Gates that do not pass: %d of %d", len(rows), len(r.Gates)), append([][]string{head}, rows...))
}
