package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis/report"
)

func queueTable() *pairTable {
	t := &pairTable{headers: []string{"number", "pair", "yours", "state", "played again", "name", "title"}}
	t.row(1, "p3f9a1c", "to decide", "undecided", "stable", "-", "")
	t.row(12, "p77b210", "both_fine", "decided", "-", "hedge-hardened", "A guess that became a fact on its way through the summary")
	return t
}

func TestPairTable(t *testing.T) {
	for _, tt := range []struct {
		name  string
		width int // 0 without a terminal
		want  string
	}{
		{"no terminal", 0, `number  pair     yours      state      played again  name            title
1       p3f9a1c  to decide  undecided  stable        -               
12      p77b210  both_fine  decided    -             hedge-hardened  A guess that became a fact on its way through the summary
`},
		{"a wide one", 160, `number  pair     yours      state      played again  name            title
1       p3f9a1c  to decide  undecided  stable        -               
12      p77b210  both_fine  decided    -             hedge-hardened  A guess that became a fact on its way through the summary
`},
		{"a title that is shortened", 96, `number  pair     yours      state      played again  name            title
1       p3f9a1c  to decide  undecided  stable        -               
12      p77b210  both_fine  decided    -             hedge-hardened  A guess that became a fact…
`},
		{"80", 80, `1 p3f9a1c
  yours to decide; state undecided; played again stable
12 p77b210
  yours both_fine; state decided; name hedge-hardened
  A guess that became a fact on its way through the summary
`},
		{"60", 60, `1 p3f9a1c
  yours to decide; state undecided; played again stable
12 p77b210
  yours both_fine; state decided; name hedge-hardened
  A guess that became a fact on its way through the
    summary
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := queueTable().print(&screen{out: &out, width: tt.width, whole: tt.width == 0}); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want {
				t.Errorf("have\n%s\nwant\n%s", out.String(), tt.want)
			}
		})
	}
}

// No line is wider than the terminal, and no cell of its own is lost but the end of a title.
func TestPairTableFits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tab := &pairTable{headers: []string{"number", "pair", "state", "title"}}
		for i := range rapid.IntRange(0, 5).Draw(rt, "rows") {
			tab.row(i+1, rapid.StringMatching(`[a-z漢字-]{1,30}`).Draw(rt, "pair"), rapid.StringMatching(`[a-z_ ]{1,20}`).Draw(rt, "state"), rapid.StringMatching(`[a-z漢 ]{0,70}`).Draw(rt, "title"))
		}
		var out bytes.Buffer
		s := &screen{out: &out, width: rapid.IntRange(40, 140).Draw(rt, "width")}
		if err := tab.print(s); err != nil {
			rt.Fatal(err)
		}
		joined := strings.Join(strings.Fields(out.String()), "")
		for _, row := range tab.rows {
			if !strings.Contains(joined, strings.Join(strings.Fields(row[1]), "")) {
				rt.Errorf("%q is missing in\n%s", row[1], out.String())
			}
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if w := runewidth.StringWidth(line); w > s.width {
				rt.Errorf("%d columns of %d: %q", w, s.width, line)
			}
		}
	})
}

// TestTableColour: only what says how something came out is in colour, and the columns stay.
func TestTableColour(t *testing.T) {
	print := func(style report.Style) string {
		table := pairTable{headers: []string{"number", "cell", "name", "title"}, statuses: []string{"cell"}}
		table.row(1, "loss", "loss", "a title")
		table.row(2, "gain", "another", "a loss")
		var out bytes.Buffer
		s := screen{out: &out, width: 100, style: style}
		if err := table.print(&s); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	const want = "number  cell  name     title\n1       [bad]loss[end]  loss     a title\n2       [good]gain[end]  another  a loss\n"
	marked := strings.NewReplacer("[bad]", "\x1b[1;38;5;208m", "[good]", "\x1b[1;38;5;33m", "[end]", "\x1b[0m").Replace(want)
	if got := print(report.Style{Color: true}); got != marked {
		t.Errorf("%q, want %q", got, marked)
	}
	plain := strings.NewReplacer("[bad]", "", "[good]", "", "[end]", "").Replace(want)
	if got := print(report.Style{}); got != plain {
		t.Errorf("%q, want %q", got, plain)
	}
}
