package replay

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestContextsComeBackAsTheyWere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "contexts")
	c := NewContexts(dir)
	messages := []fixtures.Message{
		{Role: fixtures.RoleSystem, Content: "be < good & \u2028 brief"},
		{Turn: 1, Role: fixtures.RoleUser, Content: "hi", Parts: json.RawMessage(`[{"type":"text","text":"hi"}]`), Time: "2026-03-20T00:00:00Z"},
		{Turn: 2, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "a", Name: "read", Arguments: json.RawMessage(`{"p":1}`)}}},
		{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "a", Content: strings.Repeat("line\n", 10_000)},
	}
	hash, err := c.Put(messages)
	if err != nil {
		t.Fatal(err)
	}
	back, err := c.Get(hash)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, messages) {
		t.Errorf("%v became %v", messages, back)
	}
	if again, err := c.Put(messages); err != nil || again != hash {
		t.Errorf("the same context is %s and %s: %v", hash, again, err)
	}
	if other, err := c.Put(messages[1:]); err != nil || other == hash {
		t.Errorf("another context is %s, too: %v", other, err)
	}
	if none, err := c.Put(nil); err != nil {
		t.Errorf("an empty context: %v", err)
	} else if back, err := c.Get(none); err != nil || len(back) != 0 {
		t.Errorf("an empty context came back as %v: %v", back, err)
	}
}

func TestContextsAreSafeForConcurrentUse(t *testing.T) {
	c := NewContexts(filepath.Join(t.TempDir(), "contexts"))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			hash, err := c.Put([]fixtures.Message{{Role: fixtures.RoleUser, Content: "the same"}})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := c.Get(hash); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestContextsTellWrongContent(t *testing.T) {
	dir := t.TempDir()
	c := NewContexts(dir)
	a, errA := c.Put([]fixtures.Message{{Role: fixtures.RoleUser, Content: "a"}})
	b, errB := c.Put([]fixtures.Message{{Role: fixtures.RoleUser, Content: "b"}})
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	whole, err := c.Export(a)
	if err != nil {
		t.Fatal(err)
	}
	store, err := c.store()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"another context": whole, "half": whole[:len(whole)/2], "nothing": nil} {
		if err := store.Put(ContextKey(b), data); err != nil {
			t.Fatal(err)
		}
		if messages, err := c.Get(b); err == nil || !strings.Contains(err.Error(), string(b)) {
			t.Errorf("%s read as %v, error %v", name, messages, err)
		}
	}
}

// Runs of before have each context in a file of its own.
func TestContextsInFilesOfTheirOwn(t *testing.T) {
	c := NewContexts(t.TempDir())
	data := []byte(`[{"turn":1,"role":"user","content":"hi"}]`)
	hash := fixtures.HashBytes(data)
	writer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := writer.EncodeAll(data, nil)
	for name, content := range map[string][]byte{"another's": writer.EncodeAll([]byte("[]"), nil), "half": packed[:len(packed)/2], "nothing": nil, "no zstd": []byte("[]")} {
		if err := os.WriteFile(c.single(hash), content, 0o644); err != nil {
			t.Fatal(err)
		}
		if messages, err := c.Get(hash); err == nil || !strings.Contains(err.Error(), string(hash)) {
			t.Errorf("%s read as %v, error %v", name, messages, err)
		}
	}
	if err := os.WriteFile(c.single(hash), packed, 0o644); err != nil {
		t.Fatal(err)
	}
	if back, err := c.Get(hash); err != nil || len(back) != 1 || back[0].Content != "hi" || !c.Has(hash) {
		t.Errorf("%v, %v", back, err)
	}
}

func TestAHashNeverNamesAPath(t *testing.T) {
	dir := t.TempDir()
	c := NewContexts(filepath.Join(dir, "contexts"))
	if err := os.WriteFile(filepath.Join(dir, "secret.json.zst"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, hash := range []fixtures.Hash{"", "../secret", "/etc/passwd", "0123456789abcde", "0123456789ABCDEF", "0123456789abcdef\n", "../../0123456789"} {
		if _, err := c.Get(hash); err == nil || !strings.Contains(err.Error(), "is no hash") {
			t.Errorf("hash %q: error %v", hash, err)
		}
	}
	if _, err := c.Get("0123456789abcdef"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a context that is not there: %v", err)
	}
}

func TestContextsSayWhereTheyCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewContexts(file).Put(nil); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v", err)
	}
	_, err := NewContexts(t.TempDir()).Put([]fixtures.Message{{ToolCalls: []fixtures.ToolCall{{Arguments: json.RawMessage("{")}}}})
	if err == nil {
		t.Error("a context of broken JSON was stored")
	}
}
