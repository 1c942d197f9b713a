package tools

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// fake is a session that says what it is told of its tools.
type fake struct {
	offers map[string]Effect
	calls  []string
	closed int
	err    error
}

func (f *fake) Offers(tool string) (Effect, bool) {
	effect, ok := f.offers[tool]
	return effect, ok
}

func (f *fake) Call(_ context.Context, call fixtures.ToolCall) (string, error) {
	f.calls = append(f.calls, call.Name)
	return "served", f.err
}

func (f *fake) Close() error {
	f.closed++
	return f.err
}

// connected is a maker whose servers are the session.
func connected(t testing.TB, s *fake, seen *[]Server) *Maker {
	return &Maker{Files: shop(), Dir: t.TempDir(), Connect: func(_ context.Context, spec Server) (Session, error) {
		*seen = append(*seen, spec)
		return s, nil
	}}
}

// A call reaches a server at an address only where it is sure to change nothing.
func TestWhatReachesAServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		tool    string
		effect  Effect
		writes  []string
		allowed bool // the fixture says that the server may be written to
		reaches bool
	}{
		{"a read that the server says nothing of", "read_file", Unsaid, nil, false, true},
		{"a read that the server confirms", "read_file", ReadsOnly, nil, false, true},
		{"a read that the server denies", "read_file", Changes, nil, false, false},
		{"a read that the fixture denies", "read_file", ReadsOnly, []string{"read_file"}, false, false},
		{"a write", "edit_file", Unsaid, nil, false, false},
		{"a write that the server calls a read", "edit_file", ReadsOnly, nil, false, false},
		{"a write that the fixture allows", "edit_file", Changes, nil, true, true},
		{"neither, and nobody says", "bash", Unsaid, nil, false, false},
		{"neither, and the server calls it a read", "bash", ReadsOnly, nil, false, true},
		{"not a write by the fixture's list", "bash", Unsaid, []string{"edit_file"}, false, true},
		{"not a write by the list, and the server denies", "bash", Changes, []string{"edit_file"}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, seen := &fake{offers: map[string]Effect{c.tool: c.effect}}, []Server{}
			m := connected(t, s, &seen)
			rec := recorded(c.tool + ` {"recorded":1} = tape`)
			f := &fixtures.Fixture{ConversationID: "f", Tools: &fixtures.ToolSettings{Writes: c.writes, MCP: &fixtures.ToolServer{URL: "http://127.0.0.1:1/", Writes: c.allowed}}}
			got := call(t, made(t, m, f, rec), c.tool, `{"recorded":2}`)
			if reached := got.Source == replay.FromSandbox; reached != c.reaches || (len(s.calls) == 1) != c.reaches {
				t.Errorf("%+v, the server was called for %q", got, s.calls)
			}
			// What the fixture starts for the episode may do as it likes.
			s.calls = nil
			f.Tools.MCP = &fixtures.ToolServer{Exec: []string{"server"}}
			if got := call(t, made(t, m, f, rec), c.tool, `{"recorded":2}`); got.Source != replay.FromSandbox {
				t.Errorf("by a command: %+v", got)
			}
			if last := seen[len(seen)-1]; last.URL != "" || last.Command[0] != "server" || !strings.HasPrefix(last.Dir, m.Dir) || len(last.Env) == 0 {
				t.Errorf("connected with %+v", last)
			}
		})
	}
}

func TestAServerIsStartedWhenItIsNeeded(t *testing.T) {
	s, seen := &fake{offers: map[string]Effect{"look": ReadsOnly}}, []Server{}
	m := connected(t, s, &seen)
	f := &fixtures.Fixture{ConversationID: "f", Tools: &fixtures.ToolSettings{MCP: &fixtures.ToolServer{Exec: []string{"server"}}}}
	tools := made(t, m, f, recorded(`look {} = tape`))
	if call(t, tools, "look", `{}`); len(seen) > 0 || !empty(t, m.Dir) {
		t.Error("the tape answered, and the server was started")
	}
	if call(t, tools, "unheard_of", `{}`); len(seen) > 0 {
		t.Error("a tool that the recording doesn't have started the server")
	}
	for range 2 {
		call(t, tools, "look", `{"a":1}`)
	}
	if len(seen) != 1 || len(s.calls) != 2 {
		t.Errorf("started %d times for %d calls", len(seen), len(s.calls))
	}
	if err := tools.(io.Closer).Close(); err != nil || s.closed != 1 || !empty(t, m.Dir) {
		t.Errorf("closed %d times, error %v", s.closed, err)
	}
	if _, err := tools.Call(t.Context(), replay.ToolCall{ToolCall: fixtures.ToolCall{Name: "look"}}); err != errClosed {
		t.Errorf("after closing: %v", err)
	}
	s.err = errors.New("gone")
	again, err := m.New(f, recorded(`look {"b":1} = tape`), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Call(t.Context(), replay.ToolCall{ToolCall: fixtures.ToolCall{Name: "look"}}); err == nil || !strings.Contains(err.Error(), "asking the MCP server: gone") {
		t.Errorf("error %v", err)
	}
	if err := again.(io.Closer).Close(); err == nil || !empty(t, m.Dir) {
		t.Errorf("closing: %v", err)
	}
}

func TestAProgramWithoutAClientForServers(t *testing.T) {
	f := &fixtures.Fixture{ConversationID: "f", Tools: &fixtures.ToolSettings{MCP: &fixtures.ToolServer{Exec: []string{"server"}}}}
	if _, err := (&Maker{}).New(f, recorded(), 0); err == nil || !strings.Contains(err.Error(), "fixture f: tools.mcp") {
		t.Errorf("error %v", err)
	}
}

// A folder that a program closed to itself is removed all the same.
func TestAClosedFolderIsRemoved(t *testing.T) {
	f := folder{parent: t.TempDir(), files: shop(), sandbox: "sandboxes/shop"}
	if err := f.open(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(f.work(), "src", "a.txt")); err != nil || string(data) != "a\n" {
		t.Errorf("the copy says %q, error %v", data, err)
	}
	if err := os.Chmod(filepath.Join(f.work(), "src"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.remove(); err != nil || !empty(t, f.parent) {
		t.Errorf("error %v", err)
	}
	gone := folder{parent: t.TempDir(), files: shop(), sandbox: "sandboxes/none"}
	if err := gone.open(); err == nil || !strings.Contains(err.Error(), "copying the sandbox sandboxes/none") {
		t.Errorf("a sandbox that is not there: %v", err)
	}
	if err := gone.remove(); err != nil || !empty(t, gone.parent) {
		t.Errorf("error %v", err)
	}
}
