package rubric

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/replay"
)

func say(turn int, role, text string, calls ...fixtures.ToolCall) fixtures.Message {
	return fixtures.Message{Turn: turn, Role: role, Content: text, ToolCalls: calls}
}

func call(id, name, arguments string) fixtures.ToolCall {
	return fixtures.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func result(turn int, id, text string) fixtures.Message {
	return fixtures.Message{Turn: turn, Role: fixtures.RoleTool, ToolCallID: id, Content: text}
}

// history is a short conversation with something of every kind.
func history() []fixtures.Message {
	return []fixtures.Message{
		{Role: fixtures.RoleSystem, Content: "You are the agent of port 4444 and must never rest."},
		say(1, fixtures.RoleUser, "Move the exporter to the new schema. The old one is switched off in May."),
		say(2, fixtures.RoleAssistant, "", call("1", "read_file", `{"path":"src/export.go"}`), call("2", "write_file", `{"path":"src/schema.go","content":"package src"}`)),
		result(2, "1", "package src"),
		result(2, "2", "wrote src/schema.go"),
		say(3, fixtures.RoleAssistant, "The schema stands in src/schema.go and has 41 fields. Should the old fields be dropped, or kept as aliases?"),
		say(4, fixtures.RoleUser, "Keep them as aliases, because two customers read them by name. Push to feat/schema-77 and nowhere else, please."),
		say(5, fixtures.RoleAssistant, "", call("3", "edit_file", `{"path":"src/export.go","old":"a","new":"b"}`), call("4", "write_file", `{"path":"/etc/passwd","content":"x"}`)),
		result(5, "3", "edited src/export.go"),
		result(5, "4", "Error: permission denied"),
		say(6, fixtures.RoleAssistant, "The exporter writes both names. I will delete the aliases once both customers have moved."),
		say(7, fixtures.RoleUser, "Fine. Now the tests."),
	}
}

func TestProbesOfEveryKind(t *testing.T) {
	r := newRubric(t)
	before := history()
	after := []fixtures.Message{before[0], {Role: fixtures.RoleUser, Content: "a summary"}, before[len(before)-1]}
	var got []string
	for _, p := range r.Probes(before, after) {
		got = append(got, fmt.Sprintf("%s | %s | %s", p.Kind, p.Question, truthText(&p)))
		if !strings.HasPrefix(p.ID, string(p.Kind)+"-") {
			t.Errorf("id %s", p.ID)
		}
	}
	want := []string{
		`recall | The user said earlier: "Push to [...] and nowhere else, please." One detail is left out where [...] stands. What is it? | Answer: feat/schema-77
[turn 4, user] Push to feat/schema-77 and nowhere else, please.`,
		`recall | The assistant said earlier: "The schema stands in [...] and has 41 fields." One detail is left out where [...] stands. What is it? | Answer: src/schema.go
[turn 3, assistant] The schema stands in src/schema.go and has 41 fields.`,
		`artifact | Which files have been created and which have been changed in this conversation so far? Give the path of each. | [turn 2, assistant] created: src/schema.go
[turn 5, assistant] changed: src/export.go`,
		`artifact | What has been done to "src/schema.go" in this conversation, and what for? | [turn 2, assistant] created src/schema.go: package src (the assistant then said: The schema stands in src/schema.go and has 41 fields.)`,
		`continuation | What did the user first ask for in this conversation, and why? | [turn 1, user] Move the exporter to the new schema. The old one is switched off in May.`,
		`continuation | Which steps were announced, promised or put off for later in this conversation, and what do they wait for? | [turn 6, assistant] I will delete the aliases once both customers have moved.`,
		`decision | The assistant said earlier: "Should the old fields be dropped, or kept as aliases?" What was decided in answer to that, and why? | [turn 4, user] Keep them as aliases, because two customers read them by name. Push to feat/schema-77 and nowhere else, please.`,
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("probe %d is\n%s\nwant\n%s", i, at(got, i), at(want, i))
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(none)"
}

// Only what the compaction cut away is asked for, and only what was really said.
func TestWhatIsCutAway(t *testing.T) {
	before := history()
	turns := func(after []fixtures.Message) []int {
		var list []int
		for _, s := range truncated(before, after) {
			list = append(list, s.Turn)
		}
		return list
	}
	if got := turns(before); len(got) != 0 {
		t.Errorf("an unchanged context lost turns %v", got)
	}
	if got := turns(nil); !slices.Equal(got, []int{1, 2, 2, 2, 3, 4, 5, 5, 5, 6, 7}) {
		t.Errorf("an empty context lost turns %v", got)
	}
	// A compactor may forget turns; the last of equal messages is the one it kept.
	kept := slices.Clone(before[4:])
	for i := range kept {
		kept[i].Turn = 0
	}
	if got := turns(kept); !slices.Equal(got, []int{1, 2, 2}) {
		t.Errorf("lost turns %v", got)
	}
	// What an earlier compaction wrote was not said by anybody.
	written := say(3, fixtures.RoleUser, "Summary: the port is 9931 and the branch feat/summary-1.")
	written.Extra = map[string]json.RawMessage{replay.KindField: json.RawMessage(`"summary"`)}
	lost := truncated([]fixtures.Message{written, say(4, fixtures.RoleAssistant, "Decided.")}, nil)
	if len(lost) != 1 || lost[0].Turn != 4 || lost[0].answers != "" {
		t.Errorf("lost %+v", lost)
	}
	if probes := newRubric(t).Probes(before, before); len(probes) != 0 {
		t.Errorf("probes of a context that lost nothing: %+v", probes)
	}
}

func TestChangesToFiles(t *testing.T) {
	for _, c := range []struct{ name, arguments, want string }{
		{"write_file", `{"path":"a.go","content":"x"}`, "created a.go"},
		{"Edit", `{"file_path":"a.go","new_string":"x"}`, "changed a.go"},
		{"strReplace", `{"path":"a.go"}`, "changed a.go"},
		{"delete_file", `{"path":"a.go"}`, "deleted a.go"},
		{"rename", `{"path":"a.go","to":"b.go"}`, "moved a.go"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: n.go\n+x\n*** Update File: o.go\n*** Delete File: p.go\n*** End Patch"}`, "created n.go, changed o.go, deleted p.go"},
		{"shell", `{"command":["bash","-c","printf x >> docs/a.md"]}`, "changed docs/a.md"},
		{"bash", `{"command":"cat > b.txt <<'E'\nif a > c.txt\nE"}`, "created b.txt"},
		{"bash", `{"command":"psql -c 'select a where b > c.d' > /dev/null"}`, ""},
		{"bash", `{"command":"make 2>&1 | tee -a log/out.txt"}`, "changed log/out.txt"},
		{"read_file", `{"path":"a.go"}`, ""},
		{"write_file", `"no object"`, ""},
		{"write_file", `{"path":7}`, ""},
		{"send_mail", `{"to":"x"}`, ""},
	} {
		var got []string
		for _, x := range changesOf(call("1", c.name, c.arguments), map[string]bool{}) {
			got = append(got, x.what+" "+x.path)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s %s: %q, want %q", c.name, c.arguments, got, c.want)
		}
	}
	if c := changesOf(call("1", "write_file", `{"path":"a.go"}`), map[string]bool{"a.go": true}); len(c) != 1 || c[0].what != "changed" {
		t.Errorf("a file that was there before is %+v", c)
	}
}

func TestDetails(t *testing.T) {
	for sentence, want := range map[string]string{
		"Copy it to /srv/exports/v2, please.":    "/srv/exports/v2",
		"Ask db-shared.hallam.internal:5432 now": "db-shared.hallam.internal:5432",
		"Use feat/since-flag-318 and 14 rows.":   "feat/since-flag-318",
		"The code GW-2291-K goes on every slip":  "GW-2291-K",
		"A column status_id of 2 bytes":          "status_id",
		"Call `make all` and/or wait":            "`make all`",
		"It lists 1,211 links and/or pages":      "1,211",
		"Nothing here tells a detail and/or one": "",
	} {
		if got, _ := detailOf(sentence); got != want {
			t.Errorf("%q has %q, want %q", sentence, got, want)
		}
	}
}

// The examiner's notes stay with the examiner: over the whole shipped set no probe
// holds an item's probe, expected answer or check, but for what the recording says.
func TestNoProbeHoldsAnAnnotation(t *testing.T) {
	files, err := adversarial.Files()
	if err != nil {
		t.Fatal(err)
	}
	set, err := fixtures.LoadSet(files, "adversarial")
	if err != nil {
		t.Fatal(err)
	}
	r := newRubric(t)
	kinds := map[replay.ProbeKind]int{}
	for _, f := range set.Fixtures {
		rec, err := set.Recording(f)
		if err != nil {
			t.Fatal(err)
		}
		said, err := json.Marshal(rec.Messages)
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, item := range f.MustSurvive {
			notes = append(notes, item.Probe, item.Expect)
		}
		for _, c := range f.Checks {
			notes = append(notes, c.Never, c.Must, c.Final, c.ID)
		}
		notes = slices.DeleteFunc(append(notes, f.Title, f.ConversationID), func(s string) bool {
			return len(s) < 4 || strings.Contains(string(said), s)
		})
		for _, point := range f.CompactAfter {
			before := rec.Prefix(point)
			probes := r.Probes(before, nil)
			if again := r.Probes(before, nil); len(again) != len(probes) || again[0].ID != probes[0].ID {
				t.Errorf("%s: the same history gives other probes", f.ConversationID)
			}
			for _, p := range probes {
				kinds[p.Kind]++
				for _, note := range notes {
					if text := p.Question + truthText(&p); strings.Contains(text, note) {
						t.Errorf("%s: %q stands in probe %s: %s", f.ConversationID, note, p.ID, text)
					}
				}
				for _, fact := range p.Truth {
					if fact.Turn < 1 || fact.Turn > point {
						t.Errorf("%s: probe %s has a truth of turn %d", f.ConversationID, p.ID, fact.Turn)
					}
				}
			}
		}
	}
	for _, kind := range replay.ProbeKinds() {
		if kinds[kind] < len(set.Fixtures)/2 {
			t.Errorf("%d probes of kind %s over the set", kinds[kind], kind)
		}
	}
}
