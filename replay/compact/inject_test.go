package compact_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

func mustInject(t *testing.T, name, injection string, options compact.Options) *compact.Injected {
	t.Helper()
	parsed, err := compact.ParseInjection(injection)
	if err != nil {
		t.Fatal(err)
	}
	if options.Model == nil {
		options.Model = says("Goal: fix the handlers. Progress: some are done.")
	}
	c, err := compact.NewInjected(name, options, parsed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestParseInjection(t *testing.T) {
	for text, want := range map[string]string{
		"error@1":    "",
		"timeout@12": "",
		"garbage@2":  "",
		"empty@3":    "",
		"error":      "want KIND@N",
		"":           "want KIND@N",
		"eror@1":     `did you mean "error"`,
		"Empty@1":    `did you mean "empty"`,
		"error@0":    "count from 1",
		"error@-1":   "count from 1",
		"error@1.5":  "count from 1",
		"error@":     "count from 1",
		"@1":         `no failure is called ""`,
	} {
		got, err := compact.ParseInjection(text)
		switch {
		case want == "" && (err != nil || got.String() != text):
			t.Errorf("%q: %v, %v", text, got, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParseInjection(f *testing.F) {
	for _, seed := range []string{"error@1", "timeout@99999999999999999999", "@", "empty@\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := compact.ParseInjection(text)
		if err != nil {
			return
		}
		if again, err := compact.ParseInjection(got.String()); err != nil || again != got {
			t.Errorf("%q: %v comes back as %v, %v", text, got, again, err)
		}
	})
}

func TestInjectedConformance(t *testing.T) {
	for _, kind := range compact.FailureKinds() {
		for _, name := range []string{"summarize", "ledger"} {
			t.Run(name+"/"+string(kind), func(t *testing.T) {
				compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor {
					return mustInject(t, name, string(kind)+"@1", compact.Options{})
				})
			})
		}
	}
}

// TestInjectedCalls has two compactions of two episodes, whose calls are counted apart.
func TestInjectedCalls(t *testing.T) {
	asked := 0
	model := says("Goal: something short and good.")
	model.asked = func(*replay.Request) { asked++ }
	c := mustInject(t, "summarize", "error@2", compact.Options{Model: model, Keep: 1})
	req := request(0, "u "+strings.Repeat("one ", 50), "a two", "u three", "a four")
	other := *req
	other.Fixture = "g"
	again := *req
	again.Replicate = 7
	step := func(req *replay.CompactRequest, compaction int) *replay.Compaction {
		t.Helper()
		next := *req
		next.Compaction = compaction
		out, err := c.Compact(t.Context(), &next)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, req := range []*replay.CompactRequest{req, &other, &again} {
		if out := step(req, 0); out.Status != replay.Compacted || out.Injected != "" {
			t.Errorf("the first call: %s (%s)", out.Status, out.Reason)
		}
	}
	for range 2 { // the same compaction again is the same call again
		out := step(req, 1)
		if out.Status != replay.Failed || out.Injected != "error@2" || !strings.Contains(out.Reason, "500") || out.Identity.Name != "summarize" {
			t.Errorf("the second call: %+v", out)
		}
	}
	if out := step(&other, 1); out.Injected == "" {
		t.Errorf("the other episode's second call: %+v", out)
	}
	if out := step(req, 2); out.Status != replay.Compacted {
		t.Errorf("the third call: %s (%s)", out.Status, out.Reason)
	}
	if asked != 4 {
		t.Errorf("the model was asked %d times, want 4: an injected failure asks nobody", asked)
	}
}

func TestInjectedKinds(t *testing.T) {
	req := request(0, "u one", "a two", "u three", "a four")
	for _, c := range []struct {
		kind   compact.FailureKind
		status replay.CompactionStatus
		want   string
	}{
		{compact.FailError, replay.Failed, "500 Internal Server Error"},
		{compact.FailTimeout, replay.Failed, "no answer within the time limit"},
		{compact.FailEmpty, replay.Failed, "empty summary"},
	} {
		out, err := mustInject(t, "summarize", string(c.kind)+"@1", compact.Options{Keep: 1}).Compact(t.Context(), req)
		if err != nil || out.Status != c.status || !strings.Contains(out.Reason, c.want) || out.Injected != string(c.kind)+"@1" || len(out.Exchanges) > 0 {
			t.Errorf("%s: %+v, %v", c.kind, out, err)
		}
	}
	// What looks like a summary is taken for one: that is what the injection is to find.
	long := strings.Repeat("word ", 200)
	out, err := mustInject(t, "summarize", "garbage@1", compact.Options{Keep: 1}).Compact(t.Context(), request(0, "u "+long, "a "+long, "u three", "a four"))
	if err != nil || out.Status != replay.Compacted || out.Injected != "garbage@1" || !strings.Contains(out.Messages[0].Content, "502 Bad Gateway") || len(out.Exchanges) > 0 {
		t.Errorf("garbage: %+v, %v", out, err)
	}
}

func TestInjectedPassesOnTheWorldsFaults(t *testing.T) {
	down := errors.New("503 from the provider")
	c := mustInject(t, "summarize", "error@2", compact.Options{Model: &fakeModel{err: down}, Keep: 1})
	if out, err := c.Compact(t.Context(), request(0, "u one", "a two", "u three", "a four")); !errors.Is(err, down) {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := compact.NewInjected("truncate", compact.Options{}, compact.Injection{Kind: compact.FailError, Call: 1}); err == nil {
		t.Error("truncate asks no model")
	}
	a, b := mustInject(t, "ledger", "error@1", compact.Options{}), mustInject(t, "ledger", "error@2", compact.Options{})
	if plain := compact.Digest(mustNew(t, "ledger", compact.Options{})); a.Digest() == b.Digest() || a.Digest() == plain {
		t.Error("the digest does not name the failure")
	}
}
