package offline

import "slices"

// maxUnits is how many content words of a claim are looked at; the rest of a
// longer one is ignored.
const maxUnits = 64

// unit is a content word of a claim, or an identifier as a whole.
type unit struct {
	parts []string // folded words
	kind  kind
	token int // its first token
}

// statement is a claim taken apart.
type statement struct {
	lexed
	units    []unit
	unitAt   []int8 // unit of each token, or -1
	all      uint64 // every unit
	content  uint64 // units that are no identifiers
	strong   uint64 // identifiers without which the claim says nothing
	marks    mark   // of all its words
	question bool
	proposes bool // recommends or suggests
}

// newStatement takes a claim apart.
func newStatement(text string) *statement {
	c := &statement{lexed: *lex([]string{text})}
	for _, s := range c.segments {
		c.question = c.question || s.question
	}
	for i := range c.tokens {
		c.marks |= c.tokens[i].mark
		switch c.tokens[i].fold {
		case "recommend", "suggest", "propos", "recommendation", "proposal", "suggestion":
			c.proposes = true
		}
	}
	c.collect(markFiller)
	if len(c.units) < 2 {
		c.collect(0) // too little is left: every word counts
	}
	return c
}

// collect builds the units from the words without the marks in skip.
func (c *statement) collect(skip mark) {
	c.units, c.all, c.content, c.strong = nil, 0, 0, 0
	c.unitAt = slices.Repeat([]int8{-1}, len(c.tokens))
	for i := 0; i < len(c.tokens) && len(c.units) < maxUnits; {
		t := &c.tokens[i]
		u := unit{parts: []string{t.fold}, token: i}
		next := i + 1
		if t.ident != 0 {
			id := c.idents[t.ident-1]
			u.kind = id.kind
			if id.kind > kindQuoted {
				next = int(id.last)
				u.parts = nil
				for _, part := range c.tokens[i:next] {
					u.parts = append(u.parts, part.fold)
				}
			}
		}
		if spent(c.tokens[i:next], skip) {
			i = next
			continue
		}
		number := slices.IndexFunc(c.units, func(v unit) bool { return slices.Equal(v.parts, u.parts) })
		if number < 0 {
			number = len(c.units)
			c.units = append(c.units, u)
			bit := uint64(1) << number
			c.all |= bit
			if u.kind <= kindName {
				c.content |= bit
			}
			if u.kind.strong() {
				c.strong |= bit
			}
		}
		for j := i; j < next; j++ {
			c.unitAt[j] = int8(number)
		}
		i = next
	}
}

// spent says whether all the words carry one of the marks.
func spent(tokens []token, marks mark) bool {
	for i := range tokens {
		if tokens[i].mark&marks == 0 {
			return false
		}
	}
	return true
}

// sense is what a statement says about its units.
type sense struct {
	negative bool // an odd number of negators
	negated  bool // at least one
	marks    mark // of the clauses that count
	// Units under a negator, behind a "than" and behind a "from".
	negatedUnits, thanUnits, fromUnits uint64
	// Units of what happens first and of what happens after it.
	earlier, later uint64
}

// readSense reads the clauses of a statement that hold matched units. A clause
// that only repeats units of a richer one does not count.
func readSense(tokens []token, unitAt []int8, matched uint64) sense {
	clauses := clausesOf(tokens)
	engaged := engage(clauses, unitAt, matched, tokens)
	var s sense
	negators, stress := 0, 0
	for number, cl := range clauses {
		if !engaged[number] {
			continue
		}
		readClause(&s, tokens, unitAt, matched, cl, &negators, &stress)
	}
	negators -= readOrder(&s, tokens, unitAt, matched, clauses, engaged, negators > 0 || stress > 0)
	if negators <= 0 && stress > 0 && s.earlier == 0 {
		negators = 1
	}
	s.negated = negators > 0
	s.negative = negators%2 == 1
	return s
}

func readClause(s *sense, tokens []token, unitAt []int8, matched uint64, cl span, negators, stress *int) {
	under, after := false, false
	than, from := false, false
	for i := cl.first; i < cl.last; i++ {
		t := &tokens[i]
		s.marks |= t.mark
		switch {
		case t.mark&markStress != 0:
			*stress++
			under = true
		case t.mark&markNegates != 0:
			*negators++
			if t.mark&markAfter != 0 {
				after = !after
			} else {
				under = !under
			}
		}
		if t.mark&markThan != 0 {
			than = true
		}
		switch t.raw {
		case "from":
			from = true
		case "to":
			from = false
		}
		if u := unitAt[i]; u >= 0 && matched&(1<<u) != 0 {
			bit := uint64(1) << u
			if under {
				s.negatedUnits |= bit
			}
			if than {
				s.thanUnits |= bit
			}
			if from {
				s.fromUnits |= bit
			}
		}
	}
	if after {
		for i := cl.first; i < cl.last; i++ {
			if u := unitAt[i]; u >= 0 && matched&(1<<u) != 0 {
				s.negatedUnits ^= 1 << u
			}
		}
	}
}

// readOrder finds what the statement puts first, and returns how many negators it
// spent on it: "not X until Y" says that Y comes first.
func readOrder(s *sense, tokens []token, unitAt []int8, matched uint64, clauses []span, engaged []bool, negated bool) int {
	const links = markBefore | markLater | markExcept
	for number, cl := range clauses {
		if !engaged[number] {
			continue
		}
		for i := cl.first; i < cl.last; i++ {
			m := tokens[i].mark
			if m&links == 0 || tokens[i].raw == "then" && conditional(tokens[:i]) {
				continue
			}
			var near, far uint64 // what stands with the link, and the rest
			end := len(tokens)
			initial := unitsIn(tokens, unitAt, matched, clauses, engaged, 0, i) == 0
			if initial {
				end = cl.last
			}
			near = unitsIn(tokens, unitAt, matched, clauses, engaged, i+1, end)
			far = unitsIn(tokens, unitAt, matched, clauses, engaged, 0, i) |
				unitsIn(tokens, unitAt, matched, clauses, engaged, end, len(tokens))
			near &^= far
			if near == 0 || far == 0 {
				return 0
			}
			spent := 0
			switch {
			case m&markExcept != 0 && negated && negatorOutside(tokens, i, end):
				s.earlier, s.later, spent = near, far, 1
			case m&markBefore != 0:
				s.earlier, s.later = far, near
			case m&markLater != 0:
				s.earlier, s.later = near, far
			default:
				continue
			}
			return spent
		}
	}
	return 0
}

// negatorOutside says whether a negator governs the part that is not behind the link.
func negatorOutside(tokens []token, link, end int) bool {
	for i := range tokens {
		if (i < link || i >= end) && tokens[i].mark&(markNegates|markStress) != 0 && tokens[i].mark&markAfter == 0 {
			return true
		}
	}
	return false
}

func conditional(tokens []token) bool {
	for i := range tokens {
		if tokens[i].raw == "if" || tokens[i].raw == "when" {
			return true
		}
	}
	return false
}

func unitsIn(tokens []token, unitAt []int8, matched uint64, clauses []span, engaged []bool, first, last int) uint64 {
	var units uint64
	for number, cl := range clauses {
		if !engaged[number] {
			continue
		}
		for i := max(first, cl.first); i < min(last, cl.last); i++ {
			if u := unitAt[i]; u >= 0 {
				units |= 1 << u
			}
		}
	}
	return units & matched
}

// span is a run of tokens, last exclusive.
type span struct{ first, last int }

// clausesOf cuts tokens at commas and the like. A clause of filler words alone
// ("Ideally, ...", "..., if possible") belongs to the one that it introduces, or
// to the one before it at the end.
func clausesOf(tokens []token) []span {
	var clauses []span
	first, empty := 0, true
	for i := range tokens {
		if i > first && tokens[i].gap >= gapClause && !empty {
			clauses = append(clauses, span{first, i})
			first, empty = i, true
		}
		if tokens[i].mark&markFiller == 0 {
			empty = false
		}
	}
	if first < len(tokens) {
		if empty && len(clauses) > 0 && tokens[first].gap < gapHard {
			clauses[len(clauses)-1].last = len(tokens)
		} else {
			clauses = append(clauses, span{first, len(tokens)})
		}
	}
	return clauses
}

// engage chooses the clauses that speak about the matched units: the richest
// first, and only those that add a unit.
func engage(clauses []span, unitAt []int8, matched uint64, tokens []token) []bool {
	engaged := make([]bool, len(clauses))
	units := make([]uint64, len(clauses))
	for number, cl := range clauses {
		for i := cl.first; i < cl.last; i++ {
			if u := unitAt[i]; u >= 0 {
				units[number] |= 1 << u
			}
		}
		units[number] &= matched
	}
	for rest := matched; rest != 0; {
		best, most := -1, 0
		for number := range clauses {
			if n := onesCount(units[number] & rest); n > most {
				best, most = number, n
			}
		}
		if best < 0 {
			break
		}
		engaged[best] = true
		rest &^= units[best]
	}
	return engaged
}
