package offline

import (
	"math/bits"
	"slices"
)

func onesCount(units uint64) int { return bits.OnesCount64(units) }

// match is a claim laid over a passage.
type match struct {
	tokens  []token // of the passage
	base    int32   // number of its first token in the context
	unitAt  []int8  // unit of the claim at each token, or -1
	matched uint64
}

// match lays the claim over the tokens lo to hi.
func (r *Reading) match(c *statement, lo, hi int32) *match {
	w := &match{tokens: r.tokens[lo:hi], base: lo, unitAt: slices.Repeat([]int8{-1}, int(hi-lo))}
	for number, u := range c.units {
		for i := range w.tokens {
			n := r.unitLength(u, w.tokens, i)
			if n == 0 {
				continue
			}
			w.matched |= 1 << number
			for j := i; j < i+n; j++ {
				if w.unitAt[j] < 0 {
					w.unitAt[j] = int8(number)
				}
			}
		}
	}
	return w
}

// unitLength is how many tokens from i on stand for the unit, or 0.
func (r *Reading) unitLength(u unit, tokens []token, i int) int {
	switch {
	case len(u.parts) == 1 && u.kind < kindNumber:
		if tokens[i].fold == u.parts[0] {
			return 1
		}
		return 0
	case beginsWith(tokens[i:], u.parts):
		n := len(u.parts)
		if (u.kind == kindNumber || u.kind == kindCode || u.kind == kindDotted) && !r.wholeIdent(tokens, i, n) {
			return 0 // 14 is not 14.2
		}
		return n
	case u.kind == kindPath || u.kind == kindDotted:
		return r.shortened(u, tokens, i)
	}
	return 0
}

func beginsWith(tokens []token, parts []string) bool {
	if len(tokens) < len(parts) {
		return false
	}
	for i, part := range parts {
		if tokens[i].fold != part {
			return false
		}
	}
	return true
}

// wholeIdent says whether n tokens from i are an identifier of their own, or a
// part of a path.
func (r *Reading) wholeIdent(tokens []token, i, n int) bool {
	at := tokens[i].ident
	if at == 0 {
		return true
	}
	id := r.idents[at-1]
	return id.kind == kindPath || int(id.last-id.first) <= n
}

// shortened recognises a path by its tail or its head: post.go or internal/billing
// for internal/billing/post.go.
func (r *Reading) shortened(u unit, tokens []token, i int) int {
	at := tokens[i].ident
	if at == 0 {
		// The last name of a path as a plain word: the migrations.
		if last := u.parts[len(u.parts)-1]; u.kind == kindPath && len(last) >= 5 && tokens[i].fold == last {
			return 1
		}
		return 0
	}
	if i > 0 && tokens[i-1].ident == at {
		return 0 // inside an identifier
	}
	n := 1
	for i+n < len(tokens) && tokens[i+n].ident == at {
		n++
	}
	if n >= len(u.parts) {
		return 0
	}
	tail := beginsWith(tokens[i:], u.parts[len(u.parts)-n:])
	head := beginsWith(tokens[i:], u.parts[:n])
	if tail && (n >= 2 || len(u.parts) == 2 && len(u.parts[1]) >= 5) || head && n >= 2 && 2*n >= len(u.parts) {
		return n
	}
	return 0
}

// replaced are the identifiers of the claim in whose place the passage holds
// another of the same kind.
func (r *Reading) replaced(c *statement, w *match) uint64 {
	var units uint64
	for number, u := range c.units {
		if u.kind == kindWord || w.matched&(1<<number) != 0 {
			continue
		}
		mine := neighboursOf(c.tokens, u.token, u.token+tokensOf(u))
		for i := 0; i < len(w.tokens); i++ {
			at := w.tokens[i].ident
			if at == 0 || i > 0 && w.tokens[i-1].ident == at {
				continue
			}
			id := r.idents[at-1]
			last := min(int(id.last-w.base), len(w.tokens))
			if w.unitAt[i] >= 0 || !comparable(u.kind, id.kind) || c.holds(w.tokens[i:last]) {
				continue
			}
			if mine.aligned(neighboursOf(w.tokens, i, last)) {
				units |= 1 << number
			}
		}
	}
	return units
}

func tokensOf(u unit) int { return len(u.parts) }

// holds says whether the identifier is one of the claim's own.
func (c *statement) holds(ident []token) bool {
	return slices.ContainsFunc(c.units, func(u unit) bool {
		return len(u.parts) == len(ident) && beginsWith(ident, u.parts)
	})
}

// comparable says whether an identifier of one kind can stand for one of the other.
func comparable(a, b kind) bool {
	if a == b {
		return true
	}
	if a > b {
		a, b = b, a
	}
	switch {
	case a == kindNumber && b == kindCode, a == kindPath && b == kindDotted, a == kindHyphen && b == kindCode, a == kindDotted && b == kindCode:
		return true
	}
	return false
}

// neighbours are the words around an identifier inside its clause.
type neighbours struct {
	before, after string // content words
	word          string // the word right before, articles aside
}

func neighboursOf(tokens []token, first, last int) neighbours {
	var n neighbours
	for i := first; i > 0 && tokens[i].gap < gapClause; i-- {
		t := &tokens[i-1]
		if n.word == "" && t.raw != "a" && t.raw != "an" && t.raw != "the" {
			n.word = t.raw
		}
		if t.mark&markFiller == 0 {
			n.before = t.fold
			break
		}
	}
	for i := last; i < len(tokens) && tokens[i].gap < gapClause; i++ {
		if tokens[i].mark&markFiller == 0 {
			n.after = tokens[i].fold
			break
		}
	}
	return n
}

func (n neighbours) aligned(m neighbours) bool {
	return n.before != "" && n.before == m.before || n.after != "" && n.after == m.after || n.word != "" && n.word == m.word
}

// near says whether two places share a content word beside them, on either side.
func (n neighbours) near(m neighbours) bool {
	for _, a := range []string{n.before, n.after} {
		if a != "" && (a == m.before || a == m.after) {
			return true
		}
	}
	return false
}

// exchanged says whether two identifiers of one kind changed places: what stands
// beside one of them in the claim stands beside the other in the passage.
func (r *Reading) exchanged(c *statement, w *match) bool {
	place := func(number int) (neighbours, bool) {
		for i := range w.unitAt {
			if w.unitAt[i] == int8(number) {
				last := i + 1
				for last < len(w.unitAt) && w.unitAt[last] == int8(number) {
					last++
				}
				return neighboursOf(w.tokens, i, last), true
			}
		}
		return neighbours{}, false
	}
	for a, ua := range c.units {
		if ua.kind < kindHyphen || w.matched&(1<<a) == 0 {
			continue
		}
		for b := a + 1; b < len(c.units); b++ {
			ub := c.units[b]
			if ub.kind < kindHyphen || w.matched&(1<<b) == 0 || !comparable(ua.kind, ub.kind) {
				continue
			}
			claimA := neighboursOf(c.tokens, ua.token, ua.token+tokensOf(ua))
			claimB := neighboursOf(c.tokens, ub.token, ub.token+tokensOf(ub))
			hereA, okA := place(a)
			hereB, okB := place(b)
			if okA && okB && hereA.near(claimB) && !hereA.near(claimA) && hereB.near(claimA) && !hereB.near(claimB) {
				return true
			}
		}
	}
	return false
}
