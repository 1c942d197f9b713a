package offline

import "slices"

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
		twin := u.kind == kindPath && len(u.parts) == 1 && c.says(u.parts[0])
		for i := range w.tokens {
			if twin && w.tokens[i].ident == 0 {
				continue // the word beside the path of the same name
			}
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
		if w.matched&(1<<number) != 0 || u.kind == kindWord && !c.onlyThis(u.token) {
			continue
		}
		mine := neighboursOf(c.tokens, u.token, u.token+tokensOf(u))
		for i := 0; i < len(w.tokens); i++ {
			at := w.tokens[i].ident
			if at == 0 && w.unitAt[i] < 0 && w.tokens[i].mark&markFiller == 0 && onlyMissing(c, w, number) {
				// "on branch main" where the claim has "on branch feat/x"
				if theirs := neighboursOf(w.tokens, i, i+1); mine.before != "" && mine.before == theirs.before && mine.word == theirs.word {
					units |= 1 << number
				}
			}
			if at == 0 || i > 0 && w.tokens[i-1].ident == at {
				continue
			}
			id := r.idents[at-1]
			last := min(int(id.last-w.base), len(w.tokens))
			if id.kind <= kindQuoted && w.tokens[i].mark&markFiller != 0 {
				continue // a capitalised NOT names nobody
			}
			if w.unitAt[i] >= 0 || !comparable(u.kind, id.kind) || c.holds(w.tokens[i:last]) {
				continue
			}
			theirs := neighboursOf(w.tokens, i, last)
			if len(c.units) > 2 && mine.aligned(theirs) || mine.word != "" && mine.word == theirs.word && mine.before == theirs.before {
				units |= 1 << number
			}
		}
	}
	return units
}

// onlyMissing says whether the passage holds all of the claim but that unit.
func onlyMissing(c *statement, w *match, number int) bool {
	return len(c.units) > 3 && w.matched == c.all&^(1<<number)
}

// onlyThis says whether the claim allows only the word at i: "only against develop".
func (c *statement) onlyThis(i int) bool {
	if i < 2 || c.tokens[i].gap >= gapClause {
		return false
	}
	switch c.tokens[i-1].raw {
	case "against", "on", "onto", "to", "in", "into", "from", "at", "via", "under", "with", "through":
		return c.tokens[i-2].raw == "only"
	}
	return c.tokens[i-1].raw == "only"
}

func tokensOf(u unit) int { return len(u.parts) }

// says says whether a plain word is a unit of the claim.
func (c *statement) says(fold string) bool {
	return slices.ContainsFunc(c.units, func(u unit) bool { return u.kind < kindNumber && len(u.parts) == 1 && u.parts[0] == fold })
}

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

// exchanged says whether two identifiers changed places: what stands in one clause
// with the first in the claim stands with the second in the passage.
func exchanged(c *statement, w *match) bool {
	var inClaim, inPassage []uint64
	for a, ua := range c.units {
		if ua.kind < kindName || w.matched&(1<<a) == 0 {
			continue
		}
		for b := a + 1; b < len(c.units); b++ {
			if c.units[b].kind < kindName || w.matched&(1<<b) == 0 || !comparable(ua.kind, c.units[b].kind) {
				continue
			}
			if inClaim == nil {
				inClaim, inPassage = mates(c.tokens, c.unitAt, len(c.units)), mates(w.tokens, w.unitAt, len(c.units))
			}
			onlyA, onlyB := inClaim[a]&^inClaim[b]&^(1<<a), inClaim[b]&^inClaim[a]&^(1<<b)
			if onlyA&inPassage[a] == 0 && onlyB&inPassage[b] == 0 && onlyA&inPassage[b] != 0 && onlyB&inPassage[a] != 0 {
				return true
			}
		}
	}
	return false
}

// wordsExchanged says whether two plain words of different clauses changed places:
// each now stands beside the word that the other stood beside.
func wordsExchanged(c *statement, w *match) bool {
	beside := func(tokens []token, unitAt []int8) ([]neighbours, []int) {
		around, clauses := make([]neighbours, len(c.units)), make([]int, len(c.units))
		clause := 0
		for i := range tokens {
			if tokens[i].gap >= gapClause {
				clause++
			}
			if u := unitAt[i]; u >= 0 && clauses[u] == 0 {
				around[u], clauses[u] = neighboursOf(tokens, i, listEnd(tokens, i)), clause
			}
		}
		return around, clauses
	}
	mine, clauses := beside(c.tokens, c.unitAt)
	theirs, _ := beside(w.tokens, w.unitAt)
	took := func(a, b int) bool { // b stands where a stood, and a no longer does
		return mine[a].before != "" && mine[a].before == theirs[b].before && theirs[a].before != mine[a].before ||
			mine[a].after != "" && mine[a].after == theirs[b].after && theirs[a].after != mine[a].after
	}
	for a := range c.units {
		for b := a + 1; b < len(c.units); b++ {
			both := uint64(1)<<a | uint64(1)<<b
			if c.units[a].kind >= kindName || c.units[b].kind >= kindName || w.matched&both != both || clauses[a] == clauses[b] {
				continue
			}
			if took(a, b) && took(b, a) {
				return true
			}
		}
	}
	return false
}

// listEnd is the token behind "a or b and c" that begins at i.
func listEnd(tokens []token, i int) int {
	for i++; i+1 < len(tokens) && (tokens[i].raw == "or" || tokens[i].raw == "and") && tokens[i].gap < gapClause; {
		i += 2
	}
	return i
}

// mates are, for each unit, the units that share a clause with it; "and" and "or"
// end a clause here.
func mates(tokens []token, unitAt []int8, units int) []uint64 {
	result := make([]uint64, units)
	first := 0
	for i := range tokens {
		last := i == len(tokens)-1
		if !last && tokens[i+1].gap < gapClause && tokens[i+1].raw != "and" && tokens[i+1].raw != "or" {
			continue
		}
		var together uint64
		for _, u := range unitAt[first : i+1] {
			if u >= 0 {
				together |= 1 << u
			}
		}
		for _, u := range unitAt[first : i+1] {
			if u >= 0 {
				result[u] |= together
			}
		}
		first = i + 1
	}
	return result
}
