package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// sideBySide prints two transcripts in two columns. What is the same on both sides is
// folded where it goes on for long.
func sideBySide(out io.Writer, e *pairing.Entry, rows []pairing.Row, width int) {
	column := max((width-7)/2, 20)
	fmt.Fprintf(out, "  %s   %s\n", fit(e.First.Arm, column), fit(e.Second.Arm, column))
	for i := 0; i < len(rows); {
		same := i
		for same < len(rows) && rows[same].Kind == pairing.RowEqual {
			same++
		}
		const shown = 2 // of a long stretch, at its ends
		if same-i > 2*shown+1 {
			printRows(out, rows[i:i+shown], column)
			fmt.Fprintf(out, "  ... %d steps, the same on both sides ...\n", same-i-2*shown)
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
			fmt.Fprintf(out, "  %s %s %s\n", fit(at(left), column), mark, strings.TrimRight(fit(at(right), column), " "))
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
		below = fmt.Sprintf("  %s: %s", s.Source, s.Result)
	}
	lines := cut(text, width, most)
	if below != "" {
		lines = append(lines, cut(below, width, 2)...)
	}
	return lines
}

// cut breaks a text into at most so many lines of a width.
func cut(text string, width, most int) []string {
	runes := []rune(report.Clean(text))
	var lines []string
	for len(runes) > width && len(lines) < most-1 {
		lines = append(lines, string(runes[:width]))
		runes = runes[width:]
	}
	return append(lines, report.Shorten(string(runes), width))
}

// fit fills or cuts a line to a width in characters.
func fit(text string, width int) string {
	runes := []rune(text)
	if len(runes) >= width {
		return string(runes[:width])
	}
	return text + strings.Repeat(" ", width-len(runes))
}
