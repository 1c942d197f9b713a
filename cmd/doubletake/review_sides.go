package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// sideBySide prints two transcripts in two columns. What is the same on both sides is
// folded where it goes on for long.
func sideBySide(out io.Writer, left, right string, rows []pairing.Row, width int) {
	column := max((width-5)/2, 10)
	fmt.Fprintf(out, "  %s   %s\n", fit(left, column), strings.TrimRight(fit(right, column), " "))
	for i := 0; i < len(rows); {
		same := i
		for same < len(rows) && rows[same].Kind == pairing.RowEqual {
			same++
		}
		const shown = 2 // of a long stretch, at its ends
		if same-i > 2*shown+1 {
			printRows(out, rows[i:i+shown], column)
			fmt.Fprintf(out, "  ... %s, the same on both sides ...\n", report.Plural(same-i-2*shown, "step"))
			printRows(out, rows[same-shown:same], column)
			i = same
			continue
		}
		end := max(same, i+1)
		printRows(out, rows[i:end], column)
		i = end
	}
}

func printRows(out io.Writer, rows []pairing.Row, column int) {
	for i := range rows {
		r := &rows[i]
		mark := map[pairing.RowKind]string{pairing.RowEqual: "|", pairing.RowDiffers: "*", pairing.RowFirst: "<", pairing.RowSecond: ">"}[r.Kind]
		left, right := stepLines(r.First, column), stepLines(r.Second, column)
		for k := range max(len(left), len(right)) {
			at := func(lines []string) string {
				if k < len(lines) {
					return lines[k]
				}
				return ""
			}
			line := fmt.Sprintf("  %s %s %s", fit(at(left), column), mark, fit(at(right), column))
			fmt.Fprintf(out, "%s\n", strings.TrimRight(line, " "))
		}
	}
}

// stepLines is a step in lines of a width.
func stepLines(s *replay.Step, width int) []string {
	if s == nil {
		return nil
	}
	const most = 6 // lines of one step
	var text, below string
	switch s.Kind {
	case replay.StepUser:
		text = fmt.Sprintf("%d user: %s", s.Turn, s.Text)
	case replay.StepText:
		text = fmt.Sprintf("%d says: %s", s.Turn, s.Text)
	default:
		text = fmt.Sprintf("%d calls %s %s", s.Turn, s.Call.Name, s.Call.Arguments)
		below = fmt.Sprintf("%s: %s", cmp.Or(string(s.Source), "result"), s.Result)
	}
	lines := cut(text, width, most)
	if below != "" {
		for _, line := range cut(below, width-2, 2) {
			lines = append(lines, "  "+line)
		}
	}
	return lines
}

// cut breaks a text into at most so many lines of a width.
func cut(text string, width, most int) []string {
	lines := wrapped(text, width)
	if len(lines) > most {
		lines = append(lines[:most-1], strings.Join(lines[most-1:], " "))
		lines[most-1] = runewidth.Truncate(lines[most-1], width, "…")
	}
	return lines
}

// fit fills or cuts a line to a width in columns of a terminal.
func fit(text string, width int) string {
	return runewidth.FillRight(runewidth.Truncate(text, width, ""), width)
}
