package offline

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// The bounds of an answer to a probe.
const (
	probeQuotes = 3    // segments that it quotes
	probeFloor  = 0.4  // share of quoted words that a segment must hold
	probeTouch  = 0.15 // share of other asked words that a segment must hold
	probeLength = 400  // bytes of one segment
)

// probeQuestion recognises a probe of the agent's memory: a last user message that
// begins with a probe block.
func probeQuestion(text string) (string, bool) {
	b, ok := findBlock(text, "probe", "", 0)
	return strings.TrimSpace(b.inner), ok && b.begin == 0
}

// probe answers a probe with the segments of the context that fit it best.
func (p *provider) probe(req *chatRequest, last int, question string) reply {
	wanted, floor := contentWords(quotedIn(question)), probeFloor
	if len(wanted) == 0 {
		wanted, floor = contentWords(question), probeTouch
	}
	type hit struct {
		text  string
		place int
		share float64
	}
	// Where something is quoted whole, what was said to it is asked for.
	next := floor == probeFloor && !strings.Contains(question, "[...]") && len(strings.Fields(quotedIn(question))) > 1
	var hits []hit
	known := map[string]bool{}
	for _, m := range req.Messages[:last] {
		for _, segment := range segmentsOf(&m) {
			if known[segment] {
				continue
			}
			if n := len(hits); next && n > 0 && hits[n-1].place == len(known)-1 {
				hits[n-1].text += "\n" + segment
			}
			known[segment] = true
			held := contentWords(segment)
			n := 0
			for word := range wanted {
				if held[word] {
					n++
				}
			}
			if share := float64(n) / float64(max(len(wanted), 1)); n > 0 && share >= floor {
				hits = append(hits, hit{segment, len(known) - 1, share})
			}
		}
	}
	if len(hits) == 0 {
		return reply{text: "I do not know.", finish: "stop"}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		switch {
		case a.share > b.share:
			return -1
		case a.share < b.share:
			return 1
		}
		return 0
	})
	hits = hits[:min(len(hits), probeQuotes)]
	slices.SortFunc(hits, func(a, b hit) int { return a.place - b.place })
	texts := make([]string, len(hits))
	for i := range hits {
		texts[i] = hits[i].text
	}
	return reply{text: strings.Join(texts, "\n"), finish: "stop"}
}

// segmentsOf are the sentences of a message and its calls; what a tool returned is cut
// short.
func segmentsOf(m *message) []string {
	var list []string
	for _, sentence := range sentencesOf(m.text) {
		if len(sentence) > probeLength {
			sentence = strings.ToValidUTF8(sentence[:probeLength], "")
		}
		list = append(list, sentence)
	}
	for _, c := range m.calls {
		arguments := c.arguments
		if len(arguments) > probeLength {
			arguments = strings.ToValidUTF8(arguments[:probeLength], "")
		}
		list = append(list, c.name+" "+arguments)
	}
	return list
}

// quotedIn is what stands between the first and the last double quote of a text.
func quotedIn(text string) string {
	first, last := strings.IndexByte(text, '"'), strings.LastIndexByte(text, '"')
	if first < 0 || last <= first {
		return ""
	}
	return text[first+1 : last]
}

// contentWords are the words of a text that carry it, folded.
func contentWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, t := range lex([]string{text}).tokens {
		if t.mark&markFiller == 0 {
			words[t.fold] = true
		}
	}
	return words
}

// rubricQuestion is what a grader is asked.
type rubricQuestion struct {
	probe, response, context, truth string
	criteria                        []rubricCriterion
}

// rubricCriterion is one criterion as the grader reads it.
type rubricCriterion struct {
	ID        string  `json:"id"`
	Dimension string  `json:"dimension"`
	Weight    float64 `json:"weight"`
}

// gradeQuestion recognises a request to grade by its five blocks, which carry one nonce.
func gradeQuestion(text string) (rubricQuestion, bool) {
	first, ok := findBlock(text, "probe_question", "", 0)
	if !ok || first.begin != 0 {
		return rubricQuestion{}, false
	}
	q := rubricQuestion{probe: first.inner}
	criteria := ""
	at := first.end
	for _, part := range []struct {
		tag  string
		into *string
	}{{"model_response", &q.response}, {"compacted_context", &q.context}, {"ground_truth", &q.truth}, {"rubric_criteria", &criteria}} {
		b, ok := findBlock(text, part.tag, first.nonce, at)
		if !ok {
			return rubricQuestion{}, false
		}
		*part.into, at = strings.TrimSpace(b.inner), b.end
	}
	if json.Unmarshal([]byte(criteria), &q.criteria) != nil || len(q.criteria) == 0 {
		return rubricQuestion{}, false
	}
	return q, true
}

// rubricResult is one criterion's score on the wire.
type rubricResult struct {
	CriterionID string  `json:"criterionId"`
	Score       float64 `json:"score"`
	Reasoning   string  `json:"reasoning"`
}

// grade scores a response by how much of the ground truth it holds beyond what the
// question gave away, and, where the criterion asks for the context, how much of it the
// context holds.
func (p *provider) grade(q rubricQuestion) reply {
	truth := beyond(q.truth, q.probe)
	said := fixtures.Coverage(truth, q.response)
	seen := fixtures.Coverage(truth, q.context)
	grounded := fixtures.Coverage(q.response, q.context, q.probe)
	unknown := strings.HasPrefix(q.response, "I do not know")
	results := make([]rubricResult, len(q.criteria))
	totals, weights := map[string]float64{}, map[string]float64{}
	var dimensions []string
	for i, c := range q.criteria {
		score, why := said, "share of the ground truth that the response holds"
		switch {
		case c.Dimension == "instruction_following" && unknown:
			score, why = 1, "it says that it does not know"
		case c.Dimension == "instruction_following":
			score, why = grounded, "share of the response that the context holds"
		case c.Dimension == "context_awareness":
			score, why = (said+seen)/2, "share of the ground truth that response and context hold"
		}
		score = math.Round(5 * score)
		results[i] = rubricResult{c.ID, score, why}
		if !slices.Contains(dimensions, c.Dimension) {
			dimensions = append(dimensions, c.Dimension)
		}
		totals[c.Dimension] += c.Weight * score
		weights[c.Dimension] += c.Weight
	}
	own := map[string]float64{}
	aggregate := 0.0
	for _, d := range dimensions {
		mean := 0.0
		if weights[d] > 0 {
			mean = totals[d] / weights[d]
		}
		own[d] = math.Round(100*mean) / 100
		aggregate += mean / float64(len(dimensions))
	}
	data, err := json.Marshal(struct {
		Results    []rubricResult     `json:"criterionResults"`
		Aggregate  float64            `json:"aggregateScore"`
		Dimensions map[string]float64 `json:"dimensionScores"`
	}{results, math.Round(100*aggregate) / 100, own})
	if err != nil { // weights that are no finite numbers
		return reply{text: `{"criterionResults":[],"aggregateScore":0,"dimensionScores":{}}`, finish: "stop"}
	}
	return reply{text: string(data), finish: "stop"}
}

// beyond are the words of the truth that the question did not give away, places aside;
// all of them where it gave all away.
func beyond(truth, question string) string {
	asked := contentWords(question)
	var rest []string
	for line := range strings.SplitSeq(truth, "\n") {
		if _, text, ok := strings.Cut(line, "] "); ok && strings.HasPrefix(line, "[turn ") {
			line = text
		}
		line = strings.TrimPrefix(line, "Answer: ")
		for word := range strings.FieldsSeq(line) {
			held := contentWords(word)
			for w := range held {
				if !asked[w] {
					rest = append(rest, word)
					break
				}
			}
		}
	}
	if len(rest) == 0 {
		return truth
	}
	return strings.Join(rest, " ")
}
