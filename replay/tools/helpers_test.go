package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// TestMain lets the test binary stand in for the simulators of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "simulate" {
		os.Exit(simulate(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// simulate is a simulator that counts its calls in the state, notes them in a file, and
// misbehaves where its arguments say so.
func simulate(how []string) int {
	var request SimulatorRequest
	dec := json.NewDecoder(os.Stdin)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&request); err != nil {
		fmt.Fprintln(os.Stderr, "reading:", err)
		return 3
	}
	kind := "good"
	if len(how) > 0 {
		kind = how[0]
	}
	switch kind {
	case "hang":
		time.Sleep(time.Hour)
	case "fail":
		fmt.Fprintln(os.Stderr, "the rates are not there")
		return 4
	case "flood":
		for range 6 {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
		return 0
	case "garbage":
		fmt.Print("hello")
		return 0
	case "silent":
		return 0
	case "error":
		fmt.Print(`{"error": "no such order"}`)
		return 0
	case "environment":
		text, err := json.Marshal(strings.Join(os.Environ(), "\n"))
		fmt.Printf(`{"result": %s}`, text)
		if err != nil {
			return 5
		}
		return 0
	}
	var state struct{ Calls int }
	if len(request.State) > 0 {
		if err := json.Unmarshal(request.State, &state); err != nil {
			fmt.Fprintln(os.Stderr, "state:", err)
			return 3
		}
	}
	state.Calls++
	noted, err := os.OpenFile("calls.txt", os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Fprintln(noted, request.Tool)
	noted.Close()
	data, err := os.ReadFile("calls.txt")
	shop, other := os.ReadFile("shop.txt")
	if err = errors.Join(err, other); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	text := fmt.Sprintf("call %d, noted %d, step %d, turn %d, %s %s, shop %s", state.Calls, strings.Count(string(data), "\n"), request.Step, request.Turn, request.Fixture, request.Arguments, strings.TrimSpace(string(shop)))
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"result": text, "state": state}); err != nil {
		return 3
	}
	return 0
}

// ownProgram puts the test binary where it is found by its name.
func ownProgram(t testing.TB) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return filepath.Base(program)
}

// shop is a set with a sandbox.
func shop() fs.FS {
	return fstest.MapFS{"sandboxes/shop/shop.txt": {Data: []byte("open\n")}, "sandboxes/shop/src/a.txt": {Data: []byte("a\n")}, "sim/rates.txt": {Data: []byte("1\n")}}
}

// simulated is a fixture whose calls of search and act the test binary answers.
func simulated(t testing.TB, how ...string) *fixtures.Fixture {
	return &fixtures.Fixture{ConversationID: "f", Tools: &fixtures.ToolSettings{
		Sandbox:   "sandboxes/shop",
		Simulator: &fixtures.ToolSimulator{Exec: append([]string{ownProgram(t), "simulate"}, how...), Tools: []string{"search", "act"}, Timeout: "20s"},
	}}
}

// made are the tools of one episode, closed at the test's end.
func made(t testing.TB, m *Maker, f *fixtures.Fixture, rec *fixtures.Recording) replay.Tools {
	t.Helper()
	tools, err := m.New(f, rec, 0)
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := tools.(io.Closer); ok {
		t.Cleanup(func() {
			if err := closer.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
		})
	}
	return tools
}

// empty says whether nothing is left in a folder.
func empty(t testing.TB, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) == 0
}
