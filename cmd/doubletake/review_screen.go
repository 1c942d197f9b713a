package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
)

// screen prints text that fits a terminal: no control characters, and no line longer than
// its width. Where no terminal is, lines stay whole, so that they can be searched.
type screen struct {
	out   io.Writer
	width int // that of the terminal, or what is laid out in columns has without one
	whole bool
	style report.Style
}

func newScreen(c *cli.Context) screen {
	style := terminalStyle(c)
	return screen{out: c.App.Writer, width: cmp.Or(style.Width, report.DefaultWidth), whole: style.Width == 0, style: style}
}

// room is how much of a line is left behind an indent.
func (s *screen) room(indent int) int { return max(s.width-indent, 20) }

// line prints a text behind an indent; what does not fit goes on two places further in.
func (s *screen) line(indent int, format string, args ...any) {
	const further = 2
	lead := strings.Repeat(" ", indent)
	text := fmt.Sprintf(format, args...)
	if s.whole {
		fmt.Fprintf(s.out, "%s\n", strings.TrimRight(lead+report.Clean(text), " "))
		return
	}
	for i, line := range wrapped(text, s.room(indent+further)) {
		if i == 1 {
			lead += strings.Repeat(" ", further)
		}
		fmt.Fprintf(s.out, "%s\n", strings.TrimRight(lead+line, " "))
	}
}

// wrapped cleans a text and breaks it into lines of a width, at spaces where it has any.
func wrapped(text string, width int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	end := func() {
		lines = append(lines, line.String())
		line.Reset()
		used = 0
	}
	for _, word := range strings.Fields(report.Clean(text)) {
		wide := runewidth.StringWidth(word)
		if used > 0 && used+1+wide > width {
			end()
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		for _, r := range word { // a word longer than a line is cut
			w := runewidth.RuneWidth(r)
			if used > 0 && used+w > width {
				end()
			}
			line.WriteRune(r)
			used += w
		}
	}
	end()
	return lines
}
