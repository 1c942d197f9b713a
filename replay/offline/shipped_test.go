package offline

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// shipped is the set in this repository, or skips where it is not there.
func shipped(t *testing.T) (*Library, []Script, map[string]*fixtures.Fixture) {
	t.Helper()
	root := os.DirFS("../../fixtures/adversarial")
	scripts, known, err := LoadScripts(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(scripts) == 0 {
		t.Skip("no scripts in the shipped set")
	}
	library, err := NewLibrary(scripts, known)
	if err != nil {
		t.Fatal(err)
	}
	return library, scripts, known
}

func shippedRecording(t *testing.T, f *fixtures.Fixture) *fixtures.Recording {
	t.Helper()
	name := f.Recording
	if name == "" {
		name = "recordings/" + f.ConversationID + ".jsonl"
	}
	rec, err := fixtures.ReadRecordingFile("../../fixtures/adversarial/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// forkOf is the turn after which the agent speaks.
func forkOf(f *fixtures.Fixture) int {
	if f.Fork != 0 {
		return int(f.Fork)
	}
	return f.CompactAfter[len(f.CompactAfter)-1]
}

// Every item of the shipped set is visible in its uncompacted recording.
func TestShippedItemsAreVisible(t *testing.T) {
	_, _, known := shipped(t)
	for id, f := range known {
		rec := shippedRecording(t, f)
		var texts []string
		for _, m := range rec.Prefix(forkOf(f)) {
			texts = append(texts, m.Content)
		}
		reading := Read(texts...)
		for _, item := range f.MustSurvive {
			if found := reading.Find(item.Literal); found.Verdict != Supported {
				t.Errorf("%s %s %q: %+v", id, item.ID, item.Literal, found)
			}
			var without []string
			for _, text := range texts {
				without = append(without, strings.ReplaceAll(text, item.Literal, ""))
			}
			if found := Read(without...).Find(item.Literal); found.Verdict == Supported {
				t.Errorf("%s %s %q without it: %+v", id, item.ID, item.Literal, found)
			}
		}
	}
}

// With everything visible the agent does what the recording shows.
func TestShippedScriptsFollowTheirRecordings(t *testing.T) {
	library, scripts, known := shipped(t)
	if err := CheckRecordings(os.DirFS("../../fixtures/adversarial"), scripts, known); err != nil {
		t.Error(err)
	}
	p := NewHandler(library).(*provider)
	for _, s := range scripts {
		f := known[s.Fixture]
		rec := shippedRecording(t, f)
		var messages []message
		for _, m := range rec.Prefix(forkOf(f)) {
			messages = append(messages, fromRecording(m))
		}
		for _, m := range rec.AfterTurn(forkOf(f)) {
			if m.Role == fixtures.RoleAssistant {
				r := p.answer(&chatRequest{Messages: messages})
				if len(r.calls) != len(m.ToolCalls) {
					t.Errorf("%s turn %d: %d calls, recorded %d (%q)", s.Fixture, m.Turn, len(r.calls), len(m.ToolCalls), r.text)
				}
				for i := range min(len(r.calls), len(m.ToolCalls)) {
					want, err := fixtures.CanonicalJSON(m.ToolCalls[i].Arguments)
					if err != nil {
						t.Fatal(err)
					}
					if r.calls[i].name != m.ToolCalls[i].Name || r.calls[i].arguments != string(want) {
						t.Errorf("%s turn %d: calls %s %s, recorded %s %s", s.Fixture, m.Turn, r.calls[i].name, r.calls[i].arguments, m.ToolCalls[i].Name, want)
					}
				}
			}
			messages = append(messages, fromRecording(m))
		}
	}
}

func fromRecording(m fixtures.Message) message {
	out := message{role: m.Role, text: m.Content, callID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		arguments, _ := json.Marshal(c.Arguments)
		out.calls = append(out.calls, call{c.ID, c.Name, string(arguments)})
	}
	return out
}

// What another conversation says neither supports nor contradicts an item.
func TestShippedItemsAreAbsentElsewhere(t *testing.T) {
	_, _, known := shipped(t)
	asked, wrong := 0, 0
	for id, f := range known {
		var texts []string
		for _, m := range shippedRecording(t, f).Messages {
			texts = append(texts, m.Content)
		}
		reading := Read(texts...)
		for other, g := range known {
			if other == id {
				continue
			}
			for _, item := range g.MustSurvive {
				asked++
				if found := reading.Find(item.Literal); found.Verdict != Absent {
					wrong++
					t.Logf("%s %s %q in %s: %+v", other, item.ID, item.Literal, id, found)
				}
			}
		}
	}
	if wrong*200 > asked {
		t.Errorf("%d of %d items seen in conversations that never had them", wrong, asked)
	}
}

// An item that is turned around is told from one that is kept.
func TestShippedItemsTurnedAround(t *testing.T) {
	_, _, known := shipped(t)
	for id, f := range known {
		for _, item := range f.MustSurvive {
			literal := strings.TrimRight(item.Literal, ".")
			for name, c := range map[string]struct {
				context, claim string
				want           Verdict
			}{
				"denied":        {"It is not true that " + literal, item.Literal, Contradicted},
				"denial asked":  {item.Literal, "It is not true that " + literal, Contradicted},
				"reported":      {"[turn 3, user] The user said: " + literal, item.Literal, Supported},
				"in a list":     {"Notes:\n- something else\n- " + literal + "\n- the rest", item.Literal, Supported},
				"in upper case": {strings.ToUpper(literal), item.Literal, Supported},
				"among others":  {"The sky is blue; " + literal + "; the river is wide", item.Literal, Supported},
				"in bold":       {"**" + literal + "**", item.Literal, Supported},
			} {
				if found := Read(c.context).Find(c.claim); found.Verdict != c.want {
					t.Errorf("%s %s, %s: %q has %+v, want %s", id, item.ID, name, c.context, found, c.want)
				}
			}
		}
	}
}
