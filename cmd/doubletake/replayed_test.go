package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

// notetaker is a compactor that keeps one line, and another one for the conversations
// that its arguments name.
func notetaker() {
	var request struct {
		Fixture string `json:"fixture"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		fmt.Fprintln(os.Stderr, "notetaker:", err)
		os.Exit(1)
	}
	text := "A note on " + request.Fixture + "."
	if slices.Contains(os.Args[1:], request.Fixture) {
		text += " " + otherWords
	}
	fmt.Printf(`{"status":"compacted","messages":[{"role":"user","content":%q,"kind":"summary"}]}`+"\n", text)
}

// otherWords mark the notes of the conversations that the notetaker was told of.
const otherWords = "It was written by another version."

// TestAChangedCompactorReplaysWhatItsContextsChanged counts requests: none in a second
// night, and with another compactor only those that hold a context which it changed.
func TestAChangedCompactorReplaysWhatItsContextsChanged(t *testing.T) {
	provider := newCountingProvider(t)
	var mu sync.Mutex
	var bodies [][]byte
	server := httptest.NewServer(inspected(provider, func(body []byte) {
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, body)
	}))
	defer server.Close()
	folder := t.TempDir()
	night := func(name, compactor string) [][]byte {
		mu.Lock()
		bodies = nil
		mu.Unlock()
		config := "compactors: {a: {use: ledger}, b: {exec: " + compactor + "}}\nnightly: {incumbent: a, candidate: b, control: false}\n"
		path := filepath.Join(folder, name+".yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := doubletake(t, "nightly", "--base-url", server.URL+"/v1", "--model", "m", "--out", filepath.Join(folder, name), "--cache-dir", filepath.Join(folder, "cache"), "-c", path,
			"--fixture", "forbidden-directory", "--fixture", "quiet-afternoon", "--fixture", "wrong-database")
		if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exitBlocked {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		mu.Lock()
		defer mu.Unlock()
		return bodies
	}
	if asked := night("first", "[notetaker]"); len(asked) == 0 {
		t.Fatal("the first night asks nothing")
	}
	if asked := night("second", "[notetaker]"); len(asked) != 0 {
		t.Errorf("the second night asks %d times", len(asked))
	}
	asked := night("third", "[notetaker, wrong-database]")
	if len(asked) == 0 {
		t.Error("the changed contexts are not played")
	}
	for _, body := range asked {
		if !bytes.Contains(body, []byte(otherWords)) {
			t.Errorf("asked again without a changed context: %.300s", body)
		}
	}
	third, err := replay.ReadRecord(filepath.Join(folder, "third"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := replay.ReadRecord(filepath.Join(folder, "first"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range third.Episodes {
		same := first.Episode(e.Key).Context == e.Context
		if changed := e.Arm == "b" && strings.HasPrefix(e.ConversationID, "wrong-database"); changed == same {
			t.Errorf("%s: the same context %v", e.Key, same)
		}
	}
}
