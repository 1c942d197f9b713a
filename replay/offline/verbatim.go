package offline

// verbatim looks for the claim word for word, whatever the case and the
// punctuation. Any place where nothing in the same sentence takes it back will do.
func (r *Reading) verbatim(c *statement) (Finding, bool) {
	rarest, offset := []int32(nil), -1
	for i := range c.tokens {
		places := r.postings(c.tokens[i].fold)
		if len(places) == 0 {
			return Finding{}, false // a word of the claim is nowhere, so the claim is not
		}
		if offset < 0 || len(places) < len(rarest) {
			rarest, offset = places, i
		}
	}
	found := Finding{}
	ok := false
	for _, place := range rarest {
		lo := int(place) - offset
		hi := lo + len(c.tokens)
		if lo < 0 || hi > len(r.tokens) || !r.same(c, lo) {
			continue
		}
		reason := r.undone(c, lo, hi)
		if reason == "" && c.marks&markRetracts == 0 && r.takenBack(lo, hi) {
			reason = "retracted"
		}
		if reason == "" {
			return Finding{Verdict: Supported, Coverage: 1, Verbatim: true, Passage: r.passage(int32(lo), int32(hi))}, true
		}
		if !ok {
			first, last := r.segments[r.segment[lo]], r.segments[r.segment[hi-1]]
			found = Finding{Verdict: Contradicted, Coverage: 1, Verbatim: true, Passage: r.passage(first.first, last.last), Reason: reason}
			ok = true
		}
	}
	return found, ok
}

// same says whether the words of the claim stand at lo, in one text.
func (r *Reading) same(c *statement, lo int) bool {
	for i := range c.tokens {
		if r.tokens[lo+i].raw != c.tokens[i].raw {
			return false
		}
	}
	return r.tokens[lo].text == r.tokens[lo+len(c.tokens)-1].text
}

// undone says what in the sentence around the tokens lo to hi takes them back, or
// returns "".
func (r *Reading) undone(c *statement, lo, hi int) string {
	segment := r.segments[r.segment[lo]]
	lead := r.lead(lo, int(segment.first))
	tail := r.tail(hi, int(r.segments[r.segment[hi-1]].last))
	negators, stress := 0, 0
	var around mark
	for _, t := range lead {
		around |= t.mark
		switch {
		case t.mark&markStress != 0:
			stress++
		case t.mark&markNegates != 0:
			negators++
		}
	}
	if lo > int(segment.first) && c.marks&markRetracts == 0 {
		// Ignore "...": the quotes begin a clause, and the word governs it.
		before := r.tokens[max(lo-2, int(segment.first)):lo]
		if word := before[len(before)-1].fold; (word == "ignor" || word == "disregard") && before[0].mark&markNegates == 0 {
			return "retracted"
		}
	}
	for _, t := range tail {
		around |= t.mark
		if t.mark&markNegates != 0 && t.mark&markAfter != 0 {
			negators++
		}
	}
	if negators == 0 && stress > 0 {
		negators = 1
	}
	if segment.head&markNegates != 0 && negators == 0 && c.marks&(markNegates|markStress) == 0 {
		negators = 1
	}
	switch {
	case c.marks&markRetracts == 0 && around&markRetracts != 0:
		return "retracted"
	case negators%2 == 1:
		return "polarity"
	case c.marks&markHedge == 0 && (around|segment.head)&markHedge != 0:
		return "hedge added"
	}
	return ""
}

// lead are the words before lo that govern it: the rest of its clause, and clauses
// of filler words alone before it ("Ideally, ...").
func (r *Reading) lead(lo, first int) []token {
	at := lo
	content := false
	for at > first {
		if r.tokens[at].gap >= gapClause && (content || !r.emptyBefore(at, first)) {
			break
		}
		if raw := r.tokens[at-1].raw; raw == "and" || raw == "or" || raw == "because" || raw == "so" {
			break
		}
		at--
		content = content || r.tokens[at].mark&markFiller == 0
	}
	return r.tokens[at:lo]
}

// emptyBefore says whether the clause that ends before at is of filler words alone,
// or remarks on what follows: "Consider this optional: ...".
func (r *Reading) emptyBefore(at, first int) bool {
	last := at
	for at > first {
		at--
		if r.tokens[at].gap >= gapClause {
			break
		}
	}
	return at == last || contentOf(r.tokens[at:last]) == 0 || remarks(r.tokens[at:last])
}

// tail are the words after hi that still speak about what stands before: the rest
// of its clause, and the next clause where that is a short remark ("this is lifted").
func (r *Reading) tail(hi, last int) []token {
	at := hi
	for at < last && r.tokens[at].gap < gapClause {
		if r.connects(at) {
			return r.tokens[hi:at]
		}
		at++
	}
	end, content := at, 0
	for end < last && (end == at || r.tokens[end].gap < gapClause) {
		if r.connects(end) {
			break
		}
		if r.tokens[end].mark&(markFiller|markRetracts) == 0 {
			content++
		}
		end++
	}
	if content <= 1 {
		at = end
	}
	return r.tokens[hi:at]
}

// connects says whether a word begins a statement of its own.
func (r *Reading) connects(at int) bool {
	switch r.tokens[at].raw {
	case "and", "or", "because", "since", "so", "as", "which", "where", "who", "while":
		return true
	}
	return false
}
