package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
)

// mostAnnotations is how many annotations of a kind GitHub shows for a step.
const mostAnnotations = 10

// Annotations writes workflow commands by which GitHub shows what blocks: an error for the
// gates that regressed and one for each loss of a run that is regressed, the worst first, or
// a warning for each loss of another run. File gives the place of a fixture in the
// repository by its conversation's id; empty leaves the place out. They belong on
// standard output, where GitHub documents commands to be.
func Annotations(out io.Writer, r *analysis.Report, file func(conversation string) string) error {
	kind := "warning"
	var lines []string
	if r.Verdict == analysis.Regressed {
		kind = "error"
		lines = append(lines, command(kind, "", "doubletake: "+string(r.Verdict), Shorten(regressedGates(r), lineWidth)))
	}
	list := worstFirst(r.Disagreements)
	for i := range list {
		if d := &list[i]; d.Cell == pairing.Loss {
			lines = append(lines, command(kind, file(d.ID), "doubletake: "+cellWord(d.Critical, d.Cell)+" in "+d.ID, lossText(d)))
		}
	}
	if more := len(lines) - (mostAnnotations - 1); more > 1 {
		text := fmt.Sprintf("and %d more: see the summary of the job, or review the run", more)
		lines = append(lines[:mostAnnotations-1], command(kind, "", "doubletake", text))
	}
	if _, err := io.WriteString(out, strings.Join(lines, "")); err != nil {
		return fmt.Errorf("writing annotations: %w", err)
	}
	return nil
}

// regressedGates names the rows that block, with why.
func regressedGates(r *analysis.Report) string {
	var parts []string
	for _, g := range r.Gates {
		if g.Status == analysis.GateRegressed {
			parts = append(parts, g.Name+": "+g.Reason)
		}
	}
	return strings.Join(parts, "; ")
}

func lossText(d *analysis.Disagreement) string {
	var parts []string
	for _, f := range d.Items {
		if f.Lost() {
			parts = append(parts, fmt.Sprintf("%s %s of turn %d %s: %q", f.Class, f.ID, f.Turn, f.Second, f.Literal))
		}
	}
	if text := happened(d); text != "" {
		parts = append(parts, text)
	}
	return Shorten(strings.Join(parts, "; "), lineWidth)
}

// command is a workflow command. GitHub decodes %25, %0D and %0A in messages, and %3A
// and %2C in properties, too.
func command(kind, file, title, message string) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	properties := "title=" + property.Replace(Clean(title))
	if file = Clean(file); file != "" {
		properties = "file=" + property.Replace(file) + "," + properties
	}
	return fmt.Sprintf("::%s %s::%s\n", kind, properties, data.Replace(Clean(message)))
}

// Uncommanded is a writer that keeps text from being read as workflow commands: a line
// that begins with :: or has ##[ in it, as text of a recording might, gets a space
// between. It may be used by several goroutines. Flush writes a last line without an end.
func Uncommanded(out io.Writer) *CommandFilter { return &CommandFilter{out: out} }

// CommandFilter is what [Uncommanded] returns.
type CommandFilter struct {
	mu   sync.Mutex
	out  io.Writer
	line []byte
}

// Write takes text and passes whole lines on.
func (f *CommandFilter) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.line = append(f.line, text...)
	for {
		i := bytes.IndexByte(f.line, '\n')
		if i < 0 {
			return len(text), nil
		}
		if err := f.pass(f.line[:i+1]); err != nil {
			return 0, err
		}
		f.line = f.line[i+1:]
	}
}

// Flush writes what is left.
func (f *CommandFilter) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := f.line
	f.line = nil
	return f.pass(line)
}

func (f *CommandFilter) pass(line []byte) error {
	text := strings.ReplaceAll(string(line), "##[", "## [")
	if start := strings.TrimLeftFunc(text, unicode.IsSpace); strings.HasPrefix(start, "::") {
		text = text[:len(text)-len(start)] + ": :" + start[2:]
	}
	_, err := io.WriteString(f.out, text)
	return err
}
