package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
)

func TestPlural(t *testing.T) {
	for _, tt := range []struct {
		n          int
		noun, want string
	}{
		{1, "pair", "1 pair"}, {0, "pair", "0 pairs"}, {2, "compaction decision", "2 compaction decisions"},
		{1, "loss", "1 loss"}, {3, "loss", "3 losses"}, {1, "entry", "1 entry"}, {0, "entry", "0 entries"}, {2, "play", "2 plays"}, {2, "day", "2 days"},
	} {
		if got := Plural(tt.n, tt.noun); got != tt.want {
			t.Errorf("Plural(%d, %q) = %q, want %q", tt.n, tt.noun, got, tt.want)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct{ word, want string }{
		{"PASS", "\x1b[1;38;5;33mPASS\x1b[0m"},
		{"FAIL     ", "\x1b[1;38;5;208mFAIL\x1b[0m     "},
		{"loss", "\x1b[1;38;5;208mloss\x1b[0m"},
		{"BACKLOG", "\x1b[1mBACKLOG\x1b[0m"},
		{"constraint", "constraint"},
		{"", ""},
	} {
		if got := (Style{Color: true}).Status(tt.word); got != tt.want {
			t.Errorf("Status(%q) = %q, want %q", tt.word, got, tt.want)
		}
		if got := (Style{}).Status(tt.word); got != tt.word {
			t.Errorf("without colour Status(%q) = %q", tt.word, got)
		}
	}
}

// TestGateLineColour: the colour is on the status alone, and the columns stay.
func TestGateLineColour(t *testing.T) {
	value := 1.0
	g := analysis.Gate{Name: "constraint", Value: &value, Floor: &value, Status: analysis.GatePass, Reason: "all of them PASS"}
	plain, coloured := GateLine(g, Style{}), GateLine(g, Style{Color: true})
	if strings.Count(coloured, "\x1b[") != 2 || colourCode.ReplaceAllString(coloured, "") != plain {
		t.Errorf("%q and %q", plain, coloured)
	}
}

func TestGateSummary(t *testing.T) {
	var out bytes.Buffer
	if err := GateSummary(&out, "FAIL", "REGRESSED  constraint\n             x </pre><script> @someone \x1b[31m\ngate: FAIL\n"); err != nil {
		t.Fatal(err)
	}
	const want = "### doubletake gate: FAIL\n\n<pre>\nREGRESSED  constraint\n             x &lt;/pre&gt;&lt;script&gt; &#64;someone \ufffd[31m\ngate: FAIL\n</pre>\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
