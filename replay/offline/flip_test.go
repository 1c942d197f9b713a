package offline

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// flipping is a handler of an agent that flips.
func flipping(t *testing.T, library *Library, rate float64, seed uint64) *provider {
	t.Helper()
	handler, err := NewFlippingHandler(library, Flip{Rate: rate, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return handler.(*provider)
}

// answerTo is the body of the answer to a chat request.
func answerTo(t *testing.T, p *provider, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func chatBody(t *testing.T, messages ...any) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{"model": "m", "messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// agentBodies are requests to an agent: with a script before a call, with one before its
// closing text, where the script has nothing else to say, and without a script.
func agentBodies(t *testing.T) map[string]string {
	t.Helper()
	constraint, port := msg("system", "Never edit anything under db/migrations."), msg("user", "Note: the canary listens on port 8443, fine.")
	calls := func(id string) []any {
		return []any{
			map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "f", "arguments": "{}"}}}},
			map[string]any{"role": "tool", "tool_call_id": id, "content": "ok"},
		}
	}
	column := []any{constraint, port, msg("user", "Add the column for me.")}
	after := slices.Concat(column, calls("1"), calls("2"))
	return map[string]string{
		"first call":     chatBody(t, column...),
		"second call":    chatBody(t, slices.Concat(column, calls("1"))...),
		"closing text":   chatBody(t, after...),
		"nothing seen":   chatBody(t, msg("user", "Add the column for me.")),
		"text alone":     chatBody(t, constraint, port, msg("user", "Now restart it.")),
		"no script":      chatBody(t, msg("system", "Never push to main. Never touch x."), msg("user", "Always ask me first."), msg("user", "Go on.")),
		"nothing binds":  chatBody(t, msg("user", "Hello.")),
		"hesitates":      chatBody(t, msg("user", "")),
		"reads a file":   `{"model":"m","messages":[{"role":"user","content":"Look at x.go."}],"tools":[{"type":"function","function":{"name":"read_file","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]}`,
		"no tool wanted": `{"model":"m","tool_choice":"none","messages":[{"role":"user","content":"Add the column for me."}]}`,
	}
}

func TestFlipRefusesWhatIsNoProbability(t *testing.T) {
	for _, rate := range []float64{-0.1, 1.1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if _, err := NewFlippingHandler(nil, Flip{Rate: rate}); err == nil || !strings.Contains(err.Error(), "0 to 1") {
			t.Errorf("rate %v: error %v", rate, err)
		}
	}
}

// Every flipped answer differs from the due one in what it says or calls, and only there.
func TestFlipAlwaysDiffers(t *testing.T) {
	due, flipped := newProvider(storyLibrary(t)), flipping(t, storyLibrary(t), 1, 1)
	for name, body := range agentBodies(t) {
		t.Run(name, func(t *testing.T) {
			var want, have completion
			for range 50 {
				for text, into := range map[string]*completion{answerTo(t, due, body): &want, answerTo(t, flipped, body): &have} {
					*into = completion{}
					if err := json.Unmarshal([]byte(text), into); err != nil {
						t.Fatal(err)
					}
				}
				a, b := want.Choices[0].Message, have.Choices[0].Message
				if textOf(want) == textOf(have) && slices.EqualFunc(a.ToolCalls, b.ToolCalls, func(x, y wireCall) bool { return x.Function == y.Function }) {
					t.Fatalf("a flipped answer is the due one: %+v", b)
				}
				if want.SystemFingerprint != have.SystemFingerprint || want.Model != have.Model {
					t.Fatalf("fingerprint %q, model %q; want %q and %q", have.SystemFingerprint, have.Model, want.SystemFingerprint, want.Model)
				}
			}
		})
	}
}

// An overlooked constraint gives what the script has for its absence.
func TestFlipOverlooksAnItem(t *testing.T) {
	p := flipping(t, storyLibrary(t), 1, 1)
	if answer := answerTo(t, p, agentBodies(t)["second call"]); !strings.Contains(answer, "db/migrations/1.sql") {
		t.Errorf("the constraint still holds: %s", answer)
	}
	if answer := answerTo(t, p, agentBodies(t)["text alone"]); !strings.Contains(answer, "Which port?") {
		t.Errorf("nothing was overlooked: %s", answer)
	}
}

// The number of flipped answers lies within 4 standard deviations of a binomial's mean.
func TestFlipRate(t *testing.T) {
	const n = 4000
	body := agentBodies(t)["text alone"]
	due := answerTo(t, newProvider(storyLibrary(t)), body)
	for _, rate := range []float64{0.02, 0.25, 0.9} {
		p := flipping(t, storyLibrary(t), rate, 1)
		flipped := 0
		for range n {
			if answerTo(t, p, body) != due {
				flipped++
			}
		}
		if off := math.Abs(float64(flipped) - n*rate); off > 4*math.Sqrt(n*rate*(1-rate)) {
			t.Errorf("rate %v: %d of %d flipped", rate, flipped, n)
		}
	}
}

// The same requests one after the other get the same answers for a seed. Another seed
// gives others.
func TestFlipIsDeterministicInSequence(t *testing.T) {
	bodies := agentBodies(t)
	run := func(seed uint64) (answers []string) {
		p := flipping(t, storyLibrary(t), 0.3, seed)
		for range 100 {
			for _, name := range []string{"first call", "second call", "closing text", "no script"} {
				answers = append(answers, answerTo(t, p, bodies[name]))
			}
		}
		return answers
	}
	if !slices.Equal(run(5), run(5)) {
		t.Error("one seed gave two courses")
	}
	if slices.Equal(run(5), run(6)) {
		t.Error("two seeds gave one course")
	}
}

// Concurrent requests get the answers that they would get one after the other, in some
// order.
func TestFlipConcurrent(t *testing.T) {
	body := agentBodies(t)["closing text"]
	ask := func(workers int) []string {
		p := flipping(t, storyLibrary(t), 0.5, 3)
		answers := make([]string, 64)
		var group sync.WaitGroup
		for w := range workers {
			group.Go(func() {
				for i := w; i < len(answers); i += workers {
					answers[i] = answerTo(t, p, body)
				}
			})
		}
		group.Wait()
		slices.Sort(answers)
		return answers
	}
	if !slices.Equal(ask(1), ask(8)) {
		t.Error("concurrency changed which answers are flipped")
	}
}

// Who judges, grades, summarises or is probed gives the due bytes even where every answer
// of the agent is flipped, and takes no random numbers from the agent.
func TestFlipSparesTheOtherRoles(t *testing.T) {
	criteria := `[{"id":"a","dimension":"accuracy","weight":1}]`
	bodies := map[string]string{
		"judge":       chatBody(t, msg("user", tagged("context", "Never edit anything under db/migrations.")+tagged("statement", "Never edit anything under db/migrations")+tagged("question", "May the agent edit db/migrations?"))),
		"grader":      chatBody(t, msg("user", tagged("probe_question", "Which port?")+tagged("model_response", "8443")+tagged("compacted_context", "Port 8443.")+tagged("ground_truth", "8443")+tagged("rubric_criteria", criteria))),
		"probe":       chatBody(t, msg("system", "The canary listens on port 8443."), msg("user", tagged("probe", "On which port does the canary listen?"))),
		"summariser":  chatBody(t, msg("user", tagged("conversation", "user: Never push to main.\nassistant: Fine."))),
		"summary ask": chatBody(t, msg("user", "Never push to main."), msg("assistant", "Fine."), msg("user", "Summarize the conversation so far.")),
	}
	due, flipped := newProvider(storyLibrary(t)), flipping(t, storyLibrary(t), 1, 1)
	for name, body := range bodies {
		for range 20 {
			if have, want := answerTo(t, flipped, body), answerTo(t, due, body); have != want {
				t.Errorf("%s: %s, want %s", name, have, want)
				break
			}
		}
	}
	if n := flipped.flips.asked.Load(); n != 0 {
		t.Errorf("%d requests of other roles counted as the agent's", n)
	}
}

// A rate of 0 gives the bytes of the handler without flips, whatever the seed.
func TestFlipRateZero(t *testing.T) {
	bodies := agentBodies(t)
	names := []string{"first call", "closing text", "no script", "reads a file"}
	rapid.Check(t, func(rt *rapid.T) {
		due, zero := newProvider(storyLibrary(t)), flipping(t, storyLibrary(t), 0, rapid.Uint64().Draw(rt, "seed"))
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 5).Draw(rt, "requests") {
			if have, want := answerTo(t, zero, bodies[name]), answerTo(t, due, bodies[name]); have != want {
				rt.Fatalf("%s: %s, want %s", name, have, want)
			}
		}
	})
}
