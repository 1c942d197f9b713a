package pairing

import (
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// RowKind is how the two steps of a row stand to each other.
type RowKind string

// The kinds of rows.
const (
	RowEqual   RowKind = "equal"       // both did the same and got the same back
	RowDiffers RowKind = "differs"     // both did something here, and not the same
	RowFirst   RowKind = "only_first"  // the second episode has nothing here
	RowSecond  RowKind = "only_second" // the first episode has nothing here
)

// Row is one line of two transcripts beside each other. The step of a side that has
// nothing here is nil.
type Row struct {
	Kind   RowKind
	First  *replay.Step
	Second *replay.Step
}

// Align lays the steps of two episodes beside each other. The turns of the recorded
// user are the fixed points: what was done after the first one stands beside what the
// other did after the first one, and so on. The numbers of turns are none, because an
// extra call moves all that come after it. In between, as many equal steps as possible
// stand beside each other, then calls of the same tool, then what is left in its order.
//
// The steps of each side are in the rows in their order, each once. Exchanging the
// sides exchanges them in the rows and changes nothing else. The rows point into the
// two lists.
func Align(first, second []replay.Step) []Row {
	a, b := exchanges(first), exchanges(second)
	rows := make([]Row, 0, max(len(first), len(second)))
	for i := range max(len(a), len(b)) {
		var x, y []alignable
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		rows = alignBy(rows, x, y, func(s alignable) string { return s.whole }, RowEqual, alignRest)
	}
	return rows
}

// Row is the index of the row in which the divergence shows first, or -1 where none of
// the rows has one of its steps.
func (d *Divergence) Row(rows []Row) int {
	found := -1
	for i, r := range rows {
		if !sameStep(r.First, d.First) && !sameStep(r.Second, d.Second) {
			continue
		}
		if r.Kind != RowEqual {
			return i
		}
		if found < 0 {
			found = i // a step that the other side has, too, only later
		}
	}
	return found
}

// sameStep says whether two steps of one episode are the same one, also where one of
// them was read back from a file.
func sameStep(a, b *replay.Step) bool {
	if a == nil || b == nil {
		return false
	}
	return a == b || a.Kind == b.Kind && a.Turn == b.Turn && a.Number == b.Number && a.Text == b.Text
}

// alignable is a step with what it is compared by.
type alignable struct {
	step *replay.Step
	// whole is all that happened in the step, like what kind of step it is.
	whole string
	like  string
}

// exchanges cuts steps before each one of the user.
func exchanges(steps []replay.Step) [][]alignable {
	var list [][]alignable
	for i := range steps {
		s := &steps[i]
		if i == 0 || s.Kind == replay.StepUser {
			list = append(list, nil)
		}
		last := len(list) - 1
		list[last] = append(list[last], newAlignable(s))
	}
	return list
}

func newAlignable(s *replay.Step) alignable {
	parts := []string{string(s.Kind), "", "", s.Result, string(s.Source), s.Text}
	if s.Call != nil {
		parts[1], parts[2] = s.Call.Name, fixtures.CanonicalArguments(s.Call.Arguments)
	}
	return alignable{step: s, whole: strings.Join(parts, "\x00"), like: parts[0] + "\x00" + parts[1]}
}

// alignBy puts steps with the same key into rows of one kind, and what is between them
// into rows as rest says.
func alignBy(rows []Row, a, b []alignable, key func(alignable) string, kind RowKind, rest func(rows []Row, a, b []alignable) []Row) []Row {
	i, j := 0, 0
	for _, m := range common(keysOf(a, key), keysOf(b, key)) {
		rows = rest(rows, a[i:m.first], b[j:m.second])
		rows = append(rows, Row{kind, a[m.first].step, b[m.second].step})
		i, j = m.first+1, m.second+1
	}
	return rest(rows, a[i:], b[j:])
}

func keysOf(list []alignable, key func(alignable) string) []string {
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = key(list[i])
	}
	return keys
}

// alignRest aligns steps of which none are equal.
func alignRest(rows []Row, a, b []alignable) []Row {
	return alignBy(rows, a, b, func(s alignable) string { return s.like }, RowDiffers, alignLeft)
}

// alignLeft puts what has nothing alike beside each other as it comes.
func alignLeft(rows []Row, a, b []alignable) []Row {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			rows = append(rows, Row{RowFirst, a[i].step, nil})
		case i >= len(a):
			rows = append(rows, Row{RowSecond, nil, b[i].step})
		default:
			rows = append(rows, Row{RowDiffers, a[i].step, b[i].step})
		}
	}
	return rows
}

// match is a place in each of two lists.
type match struct{ first, second int }

// common finds a longest common subsequence. Of several it takes one that depends on
// the lists and not on which of them comes first. Lists too long to compare in little
// time match at their ends alone.
func common(a, b []string) []match {
	const most = 1 << 20 // comparisons
	var out []match
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		out = append(out, match{start, start})
		start++
	}
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	x, y := a[start:len(a)-end], b[start:len(b)-end]
	if len(x)*len(y) <= most {
		for _, m := range longest(x, y) {
			out = append(out, match{start + m.first, start + m.second})
		}
	}
	for i := end; i > 0; i-- {
		out = append(out, match{len(a) - i, len(b) - i})
	}
	return out
}

// longest is common without a limit and without its short cuts.
func longest(a, b []string) []match {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	// left[i][j] is how many steps a[i:] and b[j:] have in common.
	left := make([][]int, len(a)+1)
	for i := range left {
		left[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				left[i][j] = 1 + left[i+1][j+1]
			} else {
				left[i][j] = max(left[i+1][j], left[i][j+1])
			}
		}
	}
	var out []match
	for i, j := 0, 0; left[i][j] > 0; {
		m := next(a, b, left, i, j)
		out = append(out, m)
		i, j = m.first+1, m.second+1
	}
	return out
}

// next is the match with which a longest common subsequence of a[i:] and b[j:] begins:
// the nearest one; of two as near, the one that is nearer to the diagonal; of two that
// mirror each other, the one with the lesser key. Mirrored ones cannot have the same
// key, because then a nearer one would match.
func next(a, b []string, left [][]int, i, j int) match {
	for far := 0; ; far++ {
		best, found := match{}, false
		for p := max(0, far-(len(b)-1-j)); p <= min(far, len(a)-1-i); p++ {
			m := match{i + p, j + far - p}
			if a[m.first] != b[m.second] || 1+left[m.first+1][m.second+1] != left[i][j] {
				continue
			}
			off, bestOff := abs(2*p-far), abs(2*(best.first-i)-far)
			if !found || off < bestOff || off == bestOff && a[m.first] < a[best.first] {
				best, found = m, true
			}
		}
		if found {
			return best
		}
	}
}

func abs(n int) int { return max(n, -n) }
