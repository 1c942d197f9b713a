package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// opaqueContext is a context of which one message can be read and the other not.
func opaqueContext(text string) []fixtures.Message {
	extra := replay.NativeExtra(replay.NativeOpenAI, json.RawMessage(`{"type":"compaction","encrypted_content":"x"}`))
	extra[replay.KindField] = json.RawMessage(`"opaque"`)
	return append(user(text), fixtures.Message{Role: fixtures.RoleAssistant, Content: "[compaction: only its provider can read it]", Extra: extra})
}

// TestOpaqueContexts: what stands readable is verbatim as ever; of the rest only a model
// of the provider can say anything, and nobody may call it absent instead.
func TestOpaqueContexts(t *testing.T) {
	for _, c := range []struct {
		what, text, inside string // what the model inside answers, "" for none
		coverage           bool
		want               replay.Verdict
		reason             string
	}{
		{"readable", "never touch the vault", "", false, replay.Verbatim, ""},
		{"nobody to ask", "go on", "", false, replay.Unjudged, "opaque: only its provider can read"},
		{"nobody to ask, and a judge that counts words", "go on", "", true, replay.Unjudged, "opaque: only its provider can read"},
		{"supported", "go on", supported, false, replay.Supported, ""},
		{"supported, and answered otherwise", "go on", `{"answer":"no","verdict":"supported"}`, false, replay.Contradicted, `answered "no"`},
		{"absent", "go on", `{"answer":"unknown","verdict":"absent"}`, false, replay.Absent, ""},
		{"garbage", "go on", "I would rather go on.", false, replay.Unjudged, "not the JSON asked for"},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := newRun(t, "a")
			r.play(t, "a", replay.Played, opaqueContext(c.text))
			quoted := always(`{"answer":"unknown","verdict":"absent"}`)
			j := &Judge{Model: quoted, Name: "judge", Seed: 7}
			if c.coverage {
				j.Name = replay.CoverageJudge
			}
			inside := always(c.inside)
			if c.inside != "" {
				j.Insider, j.InsiderName = inside, "agent"
			}
			if err := j.Run(t.Context(), r.Folder); err != nil {
				t.Fatal(err)
			}
			got := r.judgements(t)[0]
			if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("%s (%s), want %s with %q", got.Verdict, got.Reason, c.want, c.reason)
			}
			if len(quoted.asked) > 0 {
				t.Errorf("the judge was asked about a context that it cannot read: %+v", quoted.asked[0].Messages)
			}
			if c.inside == "" {
				return
			}
			// The context goes out as it is, with the native item, and one question after it.
			asked := inside.asked[0]
			last := asked.Messages[len(asked.Messages)-1]
			if asked.Model != "agent" || !asked.JSON || len(asked.Messages) != 4 || replay.Native(&asked.Messages[2], replay.NativeOpenAI) == nil ||
				!strings.Contains(last.Content, "never touch the vault") || !strings.Contains(last.Content, "Is the vault off limits?") {
				t.Errorf("asked %+v", asked)
			}
			if got.Input == "" || got.Output == "" || got.Exchange == nil || got.Exchange.For != "judge" {
				t.Errorf("what was asked and answered is not kept: %+v", got)
			}
		})
	}
	if a, b := InsidePromptSHA256(), PromptSHA256(); a == b || len(a) != 64 {
		t.Errorf("the prompts are %s and %s", a, b)
	}
}
