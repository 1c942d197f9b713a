package offline

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
)

// Flip says how often the agent gives another answer than the one that its context
// calls for.
type Flip struct {
	// Rate is the probability of a flipped answer, 0 to 1, for each request to the agent.
	Rate float64
	// Seed begins the random numbers.
	Seed uint64
}

// NewFlippingHandler is [NewHandler] with an agent that is nondeterministic on purpose:
// with the probability flip.Rate its answer is that of an agent that overlooked one
// randomly chosen item or message of its context, or, where that changes nothing,
// another one of those that the script knows. The random numbers go on with every
// request to the agent, so that the same request twice can be answered in two ways. The
// same requests one after the other get the same answers for a seed; with concurrent
// requests the same positions in the order of arrival are flipped.
//
// What judges, grades, summarises, embeds or answers a probe of the memory is never
// flipped. A rate of 0 gives the bytes of NewHandler. A rate outside 0 to 1 is an error.
func NewFlippingHandler(library *Library, flip Flip) (http.Handler, error) {
	if !(flip.Rate >= 0 && flip.Rate <= 1) {
		return nil, fmt.Errorf("making the offline provider: a flip rate of %v is no probability; want 0 to 1", flip.Rate)
	}
	p := newProvider(library)
	if flip.Rate > 0 {
		p.flips = &flips{Flip: flip}
	}
	return p, nil
}

// flips decides which answers are flipped. It is safe for concurrent use.
type flips struct {
	Flip
	asked atomic.Uint64 // requests to the agent so far
}

// next counts a request to the agent. It returns the random numbers to flip its answer
// by, or nil where the answer stays. Every request has a generator of its own, with a
// key of a cipher for a seed, so that how much one draws changes nothing for the others.
func (f *flips) next() *rand.Rand {
	if f == nil {
		return nil
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], f.Seed)
	binary.LittleEndian.PutUint64(key[8:], f.asked.Add(1))
	rng := rand.New(rand.NewChaCha8(key))
	if rng.Float64() >= f.Rate {
		return nil
	}
	return rng
}

// The texts of a flipped answer where nothing else differs from the due one.
const (
	hesitation      = "I will stop here and wait for your word."
	otherHesitation = "Tell me how you want to go on."
)

// misfollow is what an agent with a script answers that overlooked an item which it can
// see, else one of the other things that the script knows for the turn.
func (p *provider) misfollow(rng *rand.Rand, req *chatRequest, last int, script *Script, turn *ScriptTurn, due reply) reply {
	memory := p.memory(req, script)
	var visible []string
	for i := range turn.Steps {
		for _, item := range turn.Steps[i].items() {
			if !slices.Contains(visible, item) && memory.stance(item) == Supported {
				visible = append(visible, item)
			}
		}
	}
	shuffle(rng, visible)
	for _, item := range visible {
		memory.hidden = item
		if r := act(req, last, turn, memory); r.differs(&due) {
			return r
		}
	}
	var others []reply
	for i := range turn.Steps {
		// The step alone, whatever its conditions.
		alone := Step{Call: turn.Steps[i].Call, Say: turn.Steps[i].Say}
		if (alone.Call != nil) != (len(due.calls) > 0) {
			continue // a call for a call, a text for a text
		}
		if r := act(req, len(req.Messages)-1, &ScriptTurn{Steps: []Step{alone}}, memory); r.differs(&due) && r.finish == due.finish {
			others = append(others, r)
		}
	}
	return pick(rng, others, due)
}

// misread is what the agent without a script answers that overlooked a message; in place
// of a call, it closes the turn.
func (p *provider) misread(rng *rand.Rand, req *chatRequest, last int, due reply) reply {
	if len(due.calls) > 0 {
		return reply{text: restate(req.Messages, last), finish: "stop"}
	}
	var quoted []int
	for i, m := range req.Messages {
		if i != last && slices.ContainsFunc(sentencesOf(m.text), func(s string) bool { return strings.Contains(due.text, "\n- "+s) }) {
			quoted = append(quoted, i)
		}
	}
	shuffle(rng, quoted)
	for _, i := range quoted {
		messages := slices.Clone(req.Messages)
		messages[i].text = ""
		if text := restate(messages, last); text != due.text {
			return reply{text: text, finish: "stop"}
		}
	}
	return pick(rng, nil, due)
}

// pick takes one of the replies, or hesitates where there are none.
func pick(rng *rand.Rand, replies []reply, due reply) reply {
	if len(replies) > 0 {
		return replies[rng.IntN(len(replies))]
	}
	if due.text == hesitation {
		return reply{text: otherHesitation, finish: "stop"}
	}
	return reply{text: hesitation, finish: "stop"}
}

func shuffle[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// differs says whether two replies say or call something else.
func (r *reply) differs(other *reply) bool {
	return r.text != other.text || !slices.EqualFunc(r.calls, other.calls, func(a, b call) bool {
		return a.name == b.name && a.arguments == b.arguments
	})
}
