package report

import (
	"regexp"
	"strings"

	"github.com/mattn/go-runewidth"
)

// colourCode is what takes no room on a terminal.
var colourCode = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Fold breaks the lines of a text that are wider than a terminal, at spaces, and indents what
// follows below its line. A word that is wider than the rest of a line stays whole: the
// terminal breaks it. A width of 0 or less, or below what anything fits, leaves the text as
// it is.
func Fold(text string, width int) string {
	const narrowest, hang = 20, 4
	if width < narrowest {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		if cells(body) <= width {
			out.WriteString(line)
			continue
		}
		indent := len(body) - len(strings.TrimLeft(body, " "))
		margin := strings.Repeat(" ", min(indent+hang, width/2))
		used, gap := 0, ""
		for _, part := range strings.SplitAfter(body, " ") {
			word := strings.TrimSuffix(part, " ")
			if wide := cells(word); word != "" {
				if used+len(gap)+wide > width && used+len(gap) > len(margin) {
					out.WriteString("\n" + margin)
					used, gap = len(margin), ""
				}
				out.WriteString(gap + word)
				used, gap = used+len(gap)+wide, ""
			}
			gap += part[len(word):]
		}
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// cells is how wide a text stands on a terminal.
func cells(text string) int { return runewidth.StringWidth(colourCode.ReplaceAllString(text, "")) }
