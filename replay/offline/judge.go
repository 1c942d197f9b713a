package offline

import (
	"encoding/json"
	"strings"
)

// question is what a judge is asked: one closed question about one statement.
type question struct {
	context, statement, probe string
}

// judgeQuestion recognises a request to judge by the blocks of its last user
// message. The blocks carry one nonce, so that a context cannot close its own.
func judgeQuestion(text string) (question, bool) {
	at := 0
	for range maxContexts {
		context, ok := findBlock(text, "context", "", at)
		if !ok {
			return question{}, false
		}
		// The statement and the question stand outside the context, before or behind it.
		outside := text[:context.begin] + "\n" + text[context.end:]
		statement, okStatement := findBlock(outside, "statement", context.nonce, 0)
		probe, okProbe := findBlock(outside, "question", context.nonce, 0)
		if okStatement && okProbe {
			return question{context.inner, strings.TrimSpace(statement.inner), strings.TrimSpace(probe.inner)}, true
		}
		at = context.begin + 1
	}
	return question{}, false
}

// maxContexts is how many context blocks a message is searched for the one that
// has a statement and a question.
const maxContexts = 16

// block is a <tag-NONCE>...</tag-NONCE> in a text.
type block struct {
	inner, nonce string
	begin, end   int // of the whole block
}

// findBlock finds the first block from at on with that nonce or, where it is
// empty, with any of 16 hexadecimal digits.
func findBlock(text, tag, nonce string, at int) (block, bool) {
	open := "<" + tag + "-"
	for {
		begin := strings.Index(text[at:], open)
		if begin < 0 {
			return block{}, false
		}
		begin += at
		at = begin + len(open)
		if len(text) < at+17 || text[at+16] != '>' || !isNonce(text[at:at+16]) {
			continue
		}
		found := text[at : at+16]
		if nonce != "" && found != nonce {
			continue
		}
		inner := text[at+17:]
		closing := "</" + tag + "-" + found + ">"
		length := strings.Index(inner, closing)
		if length < 0 {
			continue
		}
		return block{inner[:length], found, begin, at + 17 + length + len(closing)}, true
	}
}

func isNonce(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') && (s[i] < 'A' || s[i] > 'F') {
			return false
		}
	}
	return true
}

// judge answers a judge's question.
func (p *provider) judge(q question) reply {
	verdict := p.readings.of([]string{q.context}).Stance(q.statement)
	answer := "unknown"
	if verdict != Absent {
		right, known := p.library.expect(q.probe, q.statement)
		if !known {
			right = plainAnswer(q.statement, q.probe)
		}
		answer = right
		if verdict == Contradicted {
			answer = opposite(right)
		}
	}
	data, err := json.Marshal(struct {
		Answer  string  `json:"answer"`
		Verdict Verdict `json:"verdict"`
	}{answer, verdict})
	if err != nil { // two strings always marshal
		return reply{text: `{"answer":"unknown","verdict":"absent"}`, finish: "stop"}
	}
	return reply{text: string(data), finish: "stop"}
}

// opposite turns an answer around.
func opposite(answer string) string {
	if strings.EqualFold(strings.TrimSpace(answer), "no") {
		return "yes"
	}
	return "no"
}

// plainAnswer answers a closed question about a statement that is taken to hold:
// yes where both have the same polarity. Asked whether something is confirmed or
// decided, a hedged or open statement says no.
func plainAnswer(statement, question string) string {
	s, q := newStatement(statement), newStatement(question)
	same := negativeAsWhole(s) == negativeAsWhole(q)
	if q.marks&markDecided != 0 && s.marks&markDecided == 0 && (s.marks&markHedge != 0 || s.question || s.marks&(markOpen|markAsks) != 0) {
		same = !same
	}
	if same {
		return "yes"
	}
	return "no"
}

func negativeAsWhole(c *statement) bool { return readSense(c.tokens, c.unitAt, c.all).negative }
