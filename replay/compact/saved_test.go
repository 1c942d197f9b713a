package compact_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
)

// saved makes a compactor of files, by name.
func saved(t *testing.T, files map[string]string) *compact.Saved {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := compact.NewSaved(compact.SavedOptions{Dir: dir, Name: "nightly outputs"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSavedConformance(t *testing.T) {
	const summary = `{"status":"compacted","messages":[{"role":"user","content":"All there was.","kind":"summary"}],"state":{"n":1}}`
	for what, files := range map[string]map[string]string{
		"summary": {"conversation.0.json": summary, "conversation.1.jsonl": `{"role":"user","content":"All of it.","kind":"summary"}`},
		"missing": {},
		"garbage": {"conversation.0.json": "Traceback"},
	} {
		t.Run(what, func(t *testing.T) {
			compacttest.TestCompactor(t, func(t *testing.T) replay.Compactor { return saved(t, files) })
		})
	}
}

func TestSaved(t *testing.T) {
	for _, c := range []struct {
		what   string
		files  map[string]string
		status replay.CompactionStatus
		ids    string
		reason string
	}{
		{what: "an object", files: map[string]string{"f.0.json": `{"status":"compacted","messages":[{"role":"user","content":"short"},{"role":"assistant","content":"four"}]}`}, status: replay.Compacted, ids: "s0-0 m4"},
		{what: "messages by line", files: map[string]string{"f.0.jsonl": "\ufeff{\"role\":\"user\",\"content\":\"short\"}\n\n{\"role\":\"assistant\",\"content\":\"four\"}\r\n"}, status: replay.Compacted, ids: "s0-0 m4"},
		{what: "a head and messages", files: map[string]string{"f.0.jsonl": "{\"status\":\"compacted\",\"opaque\":true}\n{\"role\":\"user\",\"content\":\"short\"}\n"}, status: replay.Compacted, ids: "s0-0"},
		{what: "an object as its only line", files: map[string]string{"f.0.jsonl": `{"status":"refused","reason":"too long"}`}, status: replay.Refused, reason: "too long"},
		{what: "none", files: map[string]string{"f.1.json": "{}", "g.0.json": "{}"}, status: replay.Refused, reason: "f.0.json (or .jsonl)"},
		{what: "both", files: map[string]string{"f.0.json": "{}", "f.0.jsonl": "{}"}, status: replay.Failed, reason: "two saved outputs"},
		{what: "garbage", files: map[string]string{"f.0.json": "oops"}, status: replay.Failed, reason: "the saved output holds no JSON: "},
		{what: "empty", files: map[string]string{"f.0.json": ""}, status: replay.Failed, reason: "the saved output holds nothing"},
		{what: "no lines", files: map[string]string{"f.0.jsonl": "\n"}, status: replay.Failed, reason: "it is empty"},
		{what: "a bad line", files: map[string]string{"f.0.jsonl": "{\"status\":\"compacted\"}\n{\"role\""}, status: replay.Failed, reason: "line 2 is no JSON"},
		{what: "messages twice", files: map[string]string{"f.0.jsonl": "{\"status\":\"compacted\",\"messages\":[]}\n{\"role\":\"user\",\"content\":\"x\"}"}, status: replay.Failed, reason: "first line holds messages"},
		{what: "a bad role", files: map[string]string{"f.0.jsonl": `{"role":"human","content":"x"}`}, status: replay.Failed, reason: `unknown role "human"`},
	} {
		t.Run(c.what, func(t *testing.T) {
			req := request(0, "u one", "c k1 t", "r k1 x", "a four")
			out, err := saved(t, c.files).Compact(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if out.Status != c.status || ids(out.Messages) != c.ids || !strings.Contains(out.Reason, c.reason) {
				t.Errorf("%s, messages %q, reason %q", out.Status, ids(out.Messages), out.Reason)
			}
			if out.Identity.Name != "nightly outputs" {
				t.Errorf("it is called %q", out.Identity.Name)
			}
			if err := compacttest.Check(req, out); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSavedNamesNoPath is a conversation id that would lead out of the folder.
func TestSavedNamesNoPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f.0.json"), []byte(`{"status":"refused","reason":"found"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := compact.NewSaved(compact.SavedOptions{Dir: inside})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../f", `..\f`, filepath.Join(dir, "f"), "C:f", "f\x00"} {
		req := request(0, "u one")
		req.Fixture = id
		if out, err := c.Compact(t.Context(), req); err != nil || out.Status != replay.Refused || !strings.Contains(out.Reason, "names no file") {
			t.Errorf("%q: %+v, %v", id, out, err)
		}
	}
	if err := os.Mkdir(filepath.Join(inside, "f.0.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Compact(t.Context(), request(0, "u one")); err != nil || out.Status != replay.Failed || !strings.Contains(out.Reason, "no regular file") {
		t.Errorf("a folder: %+v, %v", out, err)
	}
}

// TestSavedOwnOutput is the second pass: nothing was saved for it, and that is no
// finding; after new turns a missing output is.
func TestSavedOwnOutput(t *testing.T) {
	c := saved(t, map[string]string{"f.0.json": `{"status":"compacted","messages":[{"role":"user","content":"short"}]}`})
	req := request(0, "u one", "a two")
	out, err := c.Compact(t.Context(), req)
	if err != nil || out.Status != replay.Compacted {
		t.Fatalf("%+v, %v", out, err)
	}
	again := *req
	again.Compaction, again.Messages = 1, out.Messages
	if out, err := c.Compact(t.Context(), &again); err == nil {
		t.Errorf("its own output: %+v", out)
	}
	again.Messages = append(again.Messages, replay.CompactMessage{ID: "m3", Message: fixtures.Message{Turn: 3, Role: fixtures.RoleUser, Content: "and now?"}})
	if out, err := c.Compact(t.Context(), &again); err != nil || out.Status != replay.Refused || !strings.Contains(out.Reason, "f.1.json") {
		t.Errorf("after another turn: %+v, %v", out, err)
	}
}

func TestNewSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{file: "is no folder", file + "-none": "folder of saved outputs"} {
		if _, err := compact.NewSaved(compact.SavedOptions{Dir: dir}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestSavedDigest(t *testing.T) {
	digest := func(files map[string]string) fixtures.Hash { return saved(t, files).Digest() }
	first := digest(map[string]string{"f.0.json": "a", "notes.txt": "x"})
	if first != digest(map[string]string{"f.0.json": "a", "notes.txt": "y"}) {
		t.Error("the same outputs elsewhere have another digest")
	}
	for what, files := range map[string]map[string]string{
		"content": {"f.0.json": "b"}, "name": {"f.1.json": "a"}, "a further output": {"f.0.json": "a", "f.1.jsonl": "a"}, "none": {},
	} {
		if digest(files) == first {
			t.Errorf("%s: the same digest", what)
		}
	}
}
