package offline

import (
	"math/bits"
	"slices"
)

// maxUnits is how many content words of a claim are looked at; the rest of a
// longer one is ignored.
const maxUnits = 64

// leastOption is how many units a choice must have to be known by itself.
const leastOption = 3

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
	proposes bool     // recommends or suggests
	options  []uint64 // what an open question chooses from
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
	c.options = c.choices()
	return c
}

// choices are the units on either side of an "or" in an open question.
func (c *statement) choices() []uint64 {
	if openness(c.marks, c.question) != isOpen {
		return nil
	}
	first, last := -1, -1
	for i := range c.tokens {
		if c.tokens[i].raw == "or" {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return nil
	}
	var options []uint64
	for _, side := range [][]int8{c.unitAt[:first], c.unitAt[last+1:]} {
		var units uint64
		for _, u := range side {
			if u >= 0 {
				units |= 1 << u
			}
		}
		if bits.OnesCount64(units) >= leastOption {
			options = append(options, units)
		}
	}
	return options
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
		number := slices.IndexFunc(c.units, func(v unit) bool {
			return slices.Equal(v.parts, u.parts) && (v.kind == kindPath) == (u.kind == kindPath)
		})
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

// scope is which units stand inside and which outside of what some word governs.
// A unit that is said twice may be in both.
type scope struct{ in, out uint64 }

func (s *scope) add(bit uint64, in bool) {
	if in {
		s.in |= bit
	} else {
		s.out |= bit
	}
}

// crossed says whether at least half of the units inside the scope went out of it
// while others went in.
func (s scope) crossed(t scope, matched uint64) bool {
	inS, outS := s.in&^s.out&matched, s.out&^s.in&matched
	inT, outT := t.in&^t.out, t.out&^t.in
	return inS&outT != 0 && outS&inT != 0 && 2*bits.OnesCount64(inS&outT) >= bits.OnesCount64(inS&(inT|outT))
}

// flipped are the units that stand on one side here and on the other in t.
func (s scope) flipped(t scope) uint64 {
	return s.in&^s.out&t.out&^t.in | s.out&^s.in&t.in&^t.out
}

// clause is a clause that counts.
type clause struct {
	units uint64 // matched ones
	of    int    // how many units it has, matched or not
	odd   bool   // an odd number of negators
	plain bool   // the same, with the one that is spent on an "until"
	lead  uint64 // its first unit
	bare  bool   // it has no content but units
}

// bound is what an "until" or "unless" says.
type bound uint8

const (
	noBound   bound = iota
	onlyAfter       // not X until Y
	upTo            // X until Y
)

// sense is what a statement says about its units.
type sense struct {
	clauses  []clause
	negative bool // one of the clauses is odd
	negated  bool // there is a negator
	bound    bound
	marks    mark // of the clauses that count
	// Units under a negator, behind a "than" and behind a "from".
	negation, comparison, source scope
	// Units of what happens first and of what happens after it.
	earlier, later uint64
}

// readSense reads the clauses of a statement that hold matched units. A clause
// that only repeats units of a richer one does not count.
func readSense(tokens []token, unitAt []int8, matched uint64) sense {
	if n := denial(tokens); n > 0 {
		s := readSense(tokens[n:], unitAt[n:], matched)
		s.negate()
		s.negated = true
		return s
	}
	clauses := clausesOf(tokens)
	engaged := engage(clauses, unitAt, matched)
	var s sense
	negators := make([]int, len(clauses))
	for number, cl := range clauses {
		if engaged[number] {
			negators[number] = s.readClause(tokens, unitAt, matched, cl)
			s.negated = s.negated || negators[number] > 0
		} else if remarks(tokens[cl.first:cl.last]) && (number > 0 && engaged[number-1] || number+1 < len(clauses) && engaged[number+1]) {
			for i := cl.first; i < cl.last; i++ {
				s.marks |= tokens[i].mark & (markHedge | markRetracts)
			}
		}
	}
	unspent := slices.Clone(negators)
	if link, spent := s.readOrder(tokens, unitAt, matched, clauses, engaged); spent {
		spend(negators, clauses, link)
	}
	for number, cl := range clauses {
		if !engaged[number] {
			continue
		}
		c := clause{odd: negators[number]%2 == 1, plain: unspent[number]%2 == 1}
		var all uint64
		c.bare = true
		for i := cl.first; i < cl.last; i++ {
			if u := unitAt[i]; u >= 0 {
				all |= 1 << u
				if c.lead == 0 {
					c.lead = all
				}
			} else if tokens[i].mark&markFiller == 0 {
				c.bare = false
			}
		}
		c.units, c.of = all&matched, bits.OnesCount64(all)
		s.clauses = append(s.clauses, c)
		s.negative = s.negative || c.odd
	}
	return s
}

// denial is the length of an "it is not true that" that begins the statement, or 0.
func denial(tokens []token) int {
	for i := range tokens {
		for _, words := range []string{"not true that", "not the case that", "not correct that", "untrue that", "false that", "wrong that"} {
			if n, ok := starts(tokens[i:], words); ok {
				return i + n
			}
		}
		if tokens[i].mark&markFiller == 0 {
			return 0
		}
	}
	return 0
}

// negate turns the whole statement around.
func (s *sense) negate() {
	s.negative = !s.negative
	for i := range s.clauses {
		s.clauses[i].odd = !s.clauses[i].odd
		s.clauses[i].plain = !s.clauses[i].plain
	}
	s.negation.in, s.negation.out = s.negation.out, s.negation.in
}

// polarity says whether a passage turns one of the claim's clauses around: it has
// another parity of negators, and more than half of the words stand on the other
// side of them. lost says that a clause which lost its negator lost so much else
// that it says nothing.
func (s *sense) polarity(passage *sense) (turned, lost bool) {
	flipped := s.negation.flipped(passage.negation)
	// Where only one of them spends a negator on an "until", the other has its
	// "until" elsewhere: "leave X alone, we test until Monday".
	plain := (s.bound == onlyAfter) != (passage.bound == onlyAfter) && s.negated && passage.negated
	for _, c := range s.clauses {
		own := c.odd && !plain || c.plain && plain
		shared, odd := 0, own
		for _, d := range passage.clauses {
			n, its := bits.OnesCount64(c.units&d.units), d.odd && !plain || d.plain && plain
			if n > shared || n == shared && its == own {
				shared, odd = n, its
			}
		}
		have, gone := bits.OnesCount64(c.units), bits.OnesCount64(flipped&c.units)
		if odd == own || 2*gone < have || 2*gone == have && flipped&c.lead == 0 {
			continue
		}
		if float64(have) >= enough*float64(c.of)-1e-9 || odd && (have > 1 || flipped&c.lead != 0) {
			turned = true
		} else {
			lost = true
		}
	}
	// "..., not on main" denies what the claim says outright.
	outright := s.negation.out &^ s.negation.in
	for _, d := range passage.clauses {
		if d.odd && d.bare && d.units != 0 && d.units&^outright == 0 && d.units&^passage.negation.in == 0 && len(passage.clauses) > 1 {
			turned = true
		}
	}
	if !plain && s.bound != noBound && passage.bound != noBound && s.bound != passage.bound {
		turned = true
	}
	return turned, lost
}

// remarks says whether a clause only takes back or weakens what stands beside it.
func remarks(clause []token) bool {
	var m mark
	for i := range clause {
		m |= clause[i].mark
	}
	return m&(markHedge|markRetracts) != 0 && contentOf(clause) <= 1
}

// contentOf counts the words that tell statements apart.
func contentOf(tokens []token) int {
	n := 0
	for i := range tokens {
		if tokens[i].mark&(markFiller|markRetracts) == 0 {
			n++
		}
	}
	return n
}

// spend takes one negator away: from the last clause up to the link that has one,
// else from the first behind it.
func spend(negators []int, clauses []span, link int) {
	chosen := -1
	for number, n := range negators {
		if n > 0 && (chosen < 0 || clauses[number].first <= link) {
			chosen = number
		}
	}
	if chosen >= 0 {
		negators[chosen]--
	}
}

// readClause reads one clause and returns how many negators it has.
func (s *sense) readClause(tokens []token, unitAt []int8, matched uint64, cl span) int {
	negators, stress := 0, 0
	under, than, from := false, false, false
	whole := false            // a negator governs all of the clause
	pending, undone := -1, -1 // a negator with no content behind it yet; one that negates another
	for i := cl.first; i < cl.last; i++ {
		m := tokens[i].mark
		switch {
		case m&markStress != 0:
			stress++
		case m&markNegates != 0:
			if m&markAfter == 0 && pointless(unitAt[i+1:cl.last], matched) {
				continue
			}
			negators++
			switch {
			case m&markAfter == 0:
				pending = i
				whole = whole != reachesBack(tokens, cl.first, i)
			case pending >= 0:
				whole = whole != reachesBack(tokens, cl.first, pending)
				pending, undone = -1, pending // "is not forbidden"
			default:
				whole = !whole
			}
		case m&markFiller == 0:
			pending = -1
		}
	}
	if negators == 0 && stress > 0 {
		negators = 1 // "under no circumstances" only adds to another negator
		whole = true
	}
	for i := cl.first; i < cl.last; i++ {
		m := tokens[i].mark
		s.marks |= m
		if m&markNegates != 0 && m&(markStress|markAfter) == 0 && i != undone && !reachesBack(tokens, cl.first, i) {
			under = !under
		}
		than = than || m&markThan != 0
		switch tokens[i].raw {
		case "from":
			from = true
		case "to":
			from = false
		}
		if u := unitAt[i]; u >= 0 && matched&(1<<u) != 0 {
			bit := uint64(1) << u
			s.negation.add(bit, under != whole)
			s.comparison.add(bit, than)
			s.source.add(bit, from)
		}
	}
	return negators
}

// pointless says whether a negator governs units, and none of them matched:
// "instead of the mount" where nothing speaks of the mount.
func pointless(behind []int8, matched uint64) bool {
	some := false
	for _, u := range behind {
		if u >= 0 && matched&(1<<u) != 0 {
			return false
		}
		some = some || u >= 0
	}
	return some
}

// reachesBack says whether the negator at i governs its subject, too: "X is not
// used", "X must never be used", but not "use X, not Y".
func reachesBack(tokens []token, first, i int) bool {
	if raw := tokens[i].raw; raw != "not" && raw != "never" || i == first || contentOf(tokens[first:i]) == 0 {
		return false
	}
	switch tokens[i-1].raw {
	case "is", "are", "was", "were", "be", "been", "has", "have", "had", "do", "does", "did", "must", "may", "can", "could", "should", "shall", "will",
		"would", "need", "might":
		return true
	}
	return false
}

// readOrder finds what the statement puts first. It returns the link between the
// two and whether a negator is spent on it: "not X until Y" says that Y comes first.
func (s *sense) readOrder(tokens []token, unitAt []int8, matched uint64, clauses []span, engaged []bool) (link int, spent bool) {
	const links = markBefore | markLater | markExcept
	for i := range tokens {
		if raw := tokens[i].raw; raw != "afterwards" && raw != "afterward" {
			continue
		}
		from := i // "X first and Y afterwards"
		for from > 0 && tokens[from].gap < gapClause && tokens[from].raw != "and" {
			from--
		}
		s.earlier = unitsIn(tokens, unitAt, matched, clauses, engaged, 0, from)
		s.later = unitsIn(tokens, unitAt, matched, clauses, engaged, from, i) &^ s.earlier
		return 0, false
	}
	for number, cl := range clauses {
		if !engaged[number] {
			continue
		}
		for i := cl.first; i < cl.last; i++ {
			m := tokens[i].mark
			if m&links == 0 || tokens[i].raw == "then" && conditional(tokens[:i]) {
				continue
			}
			end, rest := cl.last, tokens[:i]
			far := unitsIn(tokens, unitAt, matched, clauses, engaged, 0, i)
			if far == 0 { // "Before X, Y"
				end = mainClause(tokens, unitAt, matched, i+1, cl.last)
				last := clauseEnd(clauses, engaged, end)
				rest, far = tokens[end:last], unitsIn(tokens, unitAt, matched, clauses, engaged, end, last)
			}
			near := unitsIn(tokens, unitAt, matched, clauses, engaged, i+1, end) &^ far // what stands with the link
			if near == 0 || far == 0 {
				return 0, false
			}
			switch {
			case m&markExcept != 0 && s.negated && negated(rest):
				s.earlier, s.later, s.bound = near, far, onlyAfter
				return i, true
			case m&(markExcept|markBefore) == markExcept:
				s.bound = upTo
				return i, false
			case m&markBefore != 0:
				s.earlier, s.later = far, near
				return i, false
			case m&markLater != 0:
				s.earlier, s.later = near, far
				return i, false
			}
		}
	}
	return 0, false
}

// clauseEnd is where the first clause that counts from at on ends.
func clauseEnd(clauses []span, engaged []bool, at int) int {
	for number, cl := range clauses {
		if engaged[number] && cl.last > at {
			return cl.last
		}
	}
	return at
}

// mainClause is where the statement goes on behind a clause that begins it and
// ends in no comma, "before I publish I will count": at the next subject or verb.
func mainClause(tokens []token, unitAt []int8, matched uint64, first, last int) int {
	units := false
	for i := first; i < last; i++ {
		switch tokens[i].raw {
		case "i", "we", "you", "they", "he", "she", "must", "may", "can", "should", "shall", "will", "do", "never":
			if units {
				return i
			}
		}
		u := unitAt[i]
		units = units || u >= 0 && matched&(1<<u) != 0
	}
	return last
}

// negated says whether a negator stands among the tokens.
func negated(tokens []token) bool {
	for i := range tokens {
		if tokens[i].mark&(markNegates|markStress) != 0 {
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
func engage(clauses []span, unitAt []int8, matched uint64) []bool {
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
			if n := bits.OnesCount64(units[number] & rest); n > most {
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
