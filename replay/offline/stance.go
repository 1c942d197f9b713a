package offline

import (
	"math/bits"
	"slices"
	"strings"
)

// Verdict is what a context says about a claim.
type Verdict string

// The verdicts.
const (
	Supported    Verdict = "supported"
	Absent       Verdict = "absent"
	Contradicted Verdict = "contradicted"
)

// The shares of a claim's words that a passage must hold.
const (
	enough      = 0.6  // to speak about the claim at all
	enoughApart = 0.8  // to turn it around over two sentences
	enoughRest  = 0.75 // besides a value that was replaced by another
	advantage   = 0.1  // by which a contradicting passage must beat a supporting one
)

// Finding is a verdict with the passage that it rests on.
type Finding struct {
	Verdict Verdict
	// Coverage is the share of the claim's words in the best passage, 0 to 1.
	Coverage float64
	// Verbatim says that the claim stands in the context word for word.
	Verbatim bool
	// Passage is the text that decided, or empty.
	Passage string
	// Reason says in a few words why a claim is contradicted.
	Reason string
}

// Stance says whether the context supports the claim, turns it around, or does
// not hold it. Each element of context is one text, such as one message. Ask
// several claims of one context through [Read].
func Stance(context []string, claim string) Verdict { return Read(context...).Find(claim).Verdict }

// Coverage is the share of the claim's content words that stand together in one
// sentence of the context or in two that follow each other, 0 to 1.
func Coverage(context []string, claim string) float64 { return Read(context...).Find(claim).Coverage }

// Reading is a context prepared for questions. It is immutable and safe for
// concurrent use.
type Reading struct {
	lexed
	words   map[string]int32 // fold -> number
	starts  []int32          // of the postings of each word, one more than words
	places  []int32          // tokens, ascending for each word
	segment []int32          // of each token
}

// Read prepares a context; each text stands for itself, such as one message.
func Read(texts ...string) *Reading {
	r := &Reading{lexed: *lex(texts)}
	r.words = make(map[string]int32, len(r.tokens)/6+8)
	numbers := make([]int32, len(r.tokens))
	counts := make([]int32, 0, len(r.tokens)/6+8)
	for i := range r.tokens {
		number, known := r.words[r.tokens[i].fold]
		if !known {
			number = int32(len(counts))
			r.words[r.tokens[i].fold] = number
			counts = append(counts, 0)
		}
		numbers[i] = number
		counts[number]++
	}
	r.starts = make([]int32, len(counts)+1)
	for i, n := range counts {
		r.starts[i+1] = r.starts[i] + n
	}
	r.places = make([]int32, len(r.tokens))
	next := append([]int32(nil), r.starts...)
	for i, number := range numbers {
		r.places[next[number]] = int32(i)
		next[number]++
	}
	r.segment = make([]int32, len(r.tokens))
	for i, s := range r.segments {
		for j := s.first; j < s.last; j++ {
			r.segment[j] = int32(i)
		}
	}
	return r
}

// postings are the tokens that hold a folded word.
func (r *Reading) postings(fold string) []int32 {
	number, ok := r.words[fold]
	if !ok {
		return nil
	}
	return r.places[r.starts[number]:r.starts[number+1]]
}

// Stance says whether the context supports the claim, turns it around, or does
// not hold it.
func (r *Reading) Stance(claim string) Verdict { return r.Find(claim).Verdict }

// Find looks for the claim and says what it found and where.
//
// A claim that stands in the context word for word is supported, unless the same
// sentence negates, weakens or retracts it. Otherwise the sentence, or the two
// adjacent sentences, that hold most of its content words decide: from 0.6 on they
// support the claim if polarity, strength, order and values agree, and contradict
// it if one of them differs.
func (r *Reading) Find(claim string) Finding {
	c := newStatement(claim)
	if len(c.units) == 0 {
		return Finding{Verdict: Absent}
	}
	if f, ok := r.verbatim(c); ok {
		return f
	}
	yes, no, coverage := r.passages(c)
	switch {
	case yes != nil && (no == nil || yes.score >= no.score-advantage):
		return Finding{Verdict: Supported, Coverage: yes.coverage, Passage: r.passage(yes.lo, yes.hi)}
	case no != nil:
		return Finding{Verdict: Contradicted, Coverage: no.coverage, Passage: r.passage(no.lo, no.hi), Reason: no.reason}
	}
	return Finding{Verdict: Absent, Coverage: coverage}
}

// passage is the text of the tokens lo to hi.
func (r *Reading) passage(lo, hi int32) string {
	text := r.texts[r.tokens[lo].text]
	end := len(text)
	if int(hi) < len(r.tokens) && r.tokens[hi].text == r.tokens[lo].text {
		end = int(r.tokens[hi].pos)
	}
	begin := int(r.tokens[lo].pos)
	if begin > end {
		return ""
	}
	return strings.TrimRight(text[begin:end], " \t\r\n-*#>|•") // without the bullet of the next line
}

// judged is a passage of the context with what it says about a claim. A score of 0
// says nothing.
type judged struct {
	lo, hi   int32
	coverage float64
	score    float64
	reason   string // why it contradicts, or empty
}

// passages looks at every sentence and pair of sentences that holds enough of the
// claim and returns the best that supports it, the best that contradicts it, and
// the highest coverage of all.
func (r *Reading) passages(c *statement) (yes, no *judged, coverage float64) {
	held := make([]uint64, len(r.segments)) // units of the claim of which a word is there
	var touched []int32
	for i, u := range c.units {
		for _, part := range u.parts {
			for _, place := range r.postings(part) {
				s := r.segment[place]
				if held[s] == 0 {
					touched = append(touched, s)
				}
				held[s] |= 1 << i
			}
		}
	}
	weigh := func(j *judged) {
		if j == nil {
			return
		}
		coverage = max(coverage, j.coverage)
		if j.score == 0 {
			return
		}
		best := &yes
		if j.reason != "" {
			best = &no
		}
		if *best == nil || j.score > (*best).score || j.score == (*best).score && j.lo < (*best).lo {
			*best = j
		}
	}
	floor := len(c.units) * 2 / 5
	if len(c.options) > 0 {
		floor = min(floor, leastOption-1)
	}
	for _, s := range touched {
		if bits.OnesCount64(held[s]) > floor || len(c.units) == 1 {
			weigh(r.judge(c, s, s))
		}
		// The pair with the segment before, once, and with the one after where
		// that one holds nothing and so will not ask itself.
		if next := s + 1; int(next) < len(r.segments) && held[next]&^held[s] != 0 && held[s]&^held[next] != 0 &&
			r.tokens[r.segments[s].first].text == r.tokens[r.segments[next].first].text &&
			bits.OnesCount64(held[s]|held[next]) > floor {
			weigh(r.judge(c, s, next))
		}
	}
	return yes, no, coverage
}

// judge compares the claim with the segments from to to.
func (r *Reading) judge(c *statement, from, to int32) *judged {
	lo, hi := r.segments[from].first, r.segments[to].last
	w := r.match(c, lo, hi)
	n := len(c.units)
	j := &judged{lo: lo, hi: hi, coverage: float64(bits.OnesCount64(w.matched)) / float64(n)}
	apart := to > from
	if w.matched == 0 || c.content != 0 && w.matched&c.content == 0 {
		return j
	}
	replaced := uint64(0)
	if !apart {
		replaced = r.replaced(c, w)
	}
	if replaced != 0 {
		rest := c.all &^ replaced
		if have := bits.OnesCount64(w.matched & rest); have > 0 && float64(have) >= enoughRest*float64(bits.OnesCount64(rest)) {
			j.score, j.reason = max(j.coverage, enough), "another value"
			return j
		}
	}
	if apart && (r.replacedIn(c, from)|r.replacedIn(c, to))&^w.matched != 0 {
		return j // one of the two has another value, so together they support nothing
	}
	if j.coverage < enough-1e-9 || c.strong != 0 && w.matched&c.strong == 0 {
		if !apart && r.chooses(c, w, from) {
			j.score, j.reason = max(j.coverage, enough), "question closed"
		}
		return j
	}
	j.reason = r.differs(c, w, from, to)
	if j.reason == reasonLost {
		j.reason = ""
		return j
	}
	if apart && j.reason != "" && j.coverage < enoughApart-1e-9 {
		j.reason = ""
		return j
	}
	j.score = j.coverage
	if apart {
		j.score -= 0.05
	}
	return j
}

// replacedIn is what a segment by itself puts another value in the place of.
func (r *Reading) replacedIn(c *statement, segment int32) uint64 {
	return r.replaced(c, r.match(c, r.segments[segment].first, r.segments[segment].last))
}

// chooses says whether the segment decides for one of the options of an open
// question and leaves the others unsaid.
func (r *Reading) chooses(c *statement, w *match, segment int32) bool {
	if len(c.options) == 0 {
		return false
	}
	if c.leavesOpen(w.tokens, r.segments[segment].head, r.segments[segment].question) != isDecided {
		return false
	}
	for _, option := range c.options {
		have := float64(bits.OnesCount64(option & w.matched))
		if have >= enoughRest*float64(bits.OnesCount64(option)) && (option&c.strong == 0 || option&c.strong&w.matched != 0) {
			return true
		}
	}
	return false
}

// reasonLost is no contradiction: what is left of the claim says nothing.
const reasonLost = "lost"

// differs says in what the passage turns the claim around, or returns "" or
// [reasonLost].
func (r *Reading) differs(c *statement, w *match, from, to int32) string {
	a := readSense(c.tokens, c.unitAt, w.matched)
	b := readSense(w.tokens, w.unitAt, w.matched)
	var head mark
	question := false
	for s := from; s <= to; s++ {
		head |= r.segments[s].head
		question = question || r.segments[s].question
	}
	if head&markNegates != 0 && !b.negated {
		b.negate()
	}
	turned, lost := a.polarity(&b)
	if from != to { // "... gets deployed. Never on a Friday.": the clauses share their negators
		turned, lost = a.negative != b.negative, false
	}
	switch {
	case turned:
		return "polarity"
	case lost:
		return reasonLost
	case a.negation.crossed(b.negation, w.matched),
		a.comparison.crossed(b.comparison, w.matched),
		a.source.crossed(b.source, w.matched):
		return "turned around"
	case swapped(a.earlier, a.later, b.earlier, b.later):
		return "order"
	case a.bound == onlyAfter && !b.negated && unconditional(w.tokens) && a.earlier&w.matched != 0 && a.later&w.matched != 0:
		return "condition dropped"
	case a.bound == onlyAfter && b.bound == noBound && lacking(w.tokens) && 2*bits.OnesCount64(b.negation.in&a.earlier) > bits.OnesCount64(w.matched&a.earlier) &&
		b.negation.out&^b.negation.in&a.later != 0:
		return "condition dropped"
	case exchanged(c, w), wordsExchanged(c, w):
		return "values exchanged"
	}
	// A hedge anywhere in the passage keeps a hedged claim hedged; only one in the
	// same clauses weakens a claim that has none.
	anyMark := head
	for i := range w.tokens {
		anyMark |= w.tokens[i].mark
	}
	claimOpen, passageOpen := openness(c.marks, c.question), c.leavesOpen(w.tokens, head, question)
	switch {
	case a.marks&markHedge == 0 && c.marks&markHedge == 0 && (b.marks|head)&markHedge != 0:
		return "hedge added"
	case a.marks&markHedge != 0 && anyMark&markHedge == 0 && !(claimOpen == isOpen && passageOpen == isOpen):
		return "hedge removed"
	case a.marks&markDemands != 0 && !a.negative && a.marks&markPermits == 0 && b.marks&markPermits != 0 && b.marks&markDemands == 0:
		return "demand weakened"
	case c.marks&markRetracts == 0 && b.marks&markRetracts != 0:
		return "retracted"
	}
	switch {
	case claimOpen == isOpen && passageOpen == isDecided:
		return "question closed"
	case claimOpen == isOpen && c.question && passageOpen == isPlain && !hasOptions(w.tokens):
		return "question closed"
	case claimOpen == isDecided && passageOpen == isOpen && !a.negated && a.earlier == 0:
		return "decision reopened"
	case c.proposes && claimOpen == isPlain && passageOpen == isDecided:
		return "proposal taken as decision"
	}
	return ""
}

// open is whether a statement leaves something open.
type open uint8

const (
	isPlain open = iota
	isOpen
	isDecided
)

func openness(m mark, question bool) open {
	switch {
	case question, m&markOpen != 0:
		return isOpen
	case m&markDecided != 0:
		return isDecided
	case m&markAsks != 0:
		return isOpen
	}
	return isPlain
}

// leavesOpen is whether a passage leaves the claim open. What it says counts before
// the heading or the label that it stands under: an answer in a list of open
// questions is an answer.
func (c *statement) leavesOpen(tokens []token, head mark, question bool) open {
	var own mark
	first := 0
	for i := range tokens {
		if i+1 < len(tokens) && tokens[i+1].gap < gapClause {
			continue
		}
		if m, isLabel := label(tokens[first : i+1]); isLabel {
			head |= m
		} else {
			own |= m
		}
		first = i + 1
	}
	if o := openness(own, question); o != isPlain {
		return o
	}
	if o := openness(head, false); o != isOpen || len(c.options) == 0 || hasOptions(tokens) {
		return o
	}
	return isPlain
}

// label says whether a clause is no more than a label such as "Open question:", and
// what marks it has.
func label(clause []token) (m mark, isLabel bool) {
	isLabel = len(clause) <= 3
	for i := range clause {
		m |= clause[i].mark
		switch clause[i].raw {
		case "open", "question", "questions", "point", "points":
		default:
			isLabel = false
		}
	}
	return m, isLabel
}

func hasOptions(tokens []token) bool {
	for i := range tokens {
		switch tokens[i].raw {
		case "or", "oder", "o", "ou", "vs", "versus", "option", "options":
			return true
		case "open":
			if _, isLabel := label(tokens[i:min(i+2, len(tokens))]); !isLabel || i+1 == len(tokens) {
				return true // but an "open question" is only its label
			}
		}
	}
	return false
}

// lacking says whether the passage does something without something.
func lacking(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.raw == "without" && t.mark&markNegates != 0 })
}

// unconditional says whether a passage makes nothing wait for anything.
func unconditional(tokens []token) bool {
	for i := range tokens {
		if tokens[i].mark&(markBefore|markLater|markExcept|markDemands|markOpen) != 0 {
			return false
		}
		switch tokens[i].fold {
		case "if", "when", "first", "wait", "need", "requir", "depend", "subject", "by":
			return false
		}
	}
	return true
}

// swapped says whether two orders of events disagree.
func swapped(earlierA, laterA, earlierB, laterB uint64) bool {
	if earlierA == 0 || laterA == 0 || earlierB == 0 || laterB == 0 {
		return false
	}
	against := bits.OnesCount64(earlierA&laterB) + bits.OnesCount64(laterA&earlierB)
	along := bits.OnesCount64(earlierA&earlierB) + bits.OnesCount64(laterA&laterB)
	return against > along
}
