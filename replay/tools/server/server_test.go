package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/tools"
	"github.com/doubletake-dev/doubletake/replay/tools/toolstest"
)

func TestAFileServerServesAFixturesTools(t *testing.T) {
	dir, set := t.TempDir(), shop()
	m := &tools.Maker{Files: set, Dir: dir, Connect: Connect}
	for range 2 { // the second episode finds the sandbox as the set has it
		of := made(t, m, sandboxed(t, "files"))
		for _, c := range []struct {
			name, arguments, want string
			source                replay.ToolSource
		}{
			{"read_file", `{"path":"taped.txt"}`, "from the tape", replay.FromTape},
			{"read_file", `{"path":"sign.txt"}`, "open", replay.FromSandbox},
			{"read_file", `{"path":"docs/README.md"}`, "# Shop\n", replay.FromSandbox},
			{"list_directory", `{"path":"."}`, "docs\nsign.txt", replay.FromSandbox},
			{"write_file", `{"path":"sign.txt","content":"closed"}`, "written", replay.FromSandbox},
			{"write_file", `{"path":"new.txt","content":"n"}`, "written", replay.FromSandbox},
			{"read_file", `{"path":"sign.txt"}`, "closed", replay.FromSandbox},
			{"show_picture", ``, "two\n[image image/png, 3 bytes]\n[resource file:///a]\ninside", replay.FromSandbox},
			{"not_served", `{}`, tools.MissText, replay.Miss},
			{"unheard_of", `{}`, tools.MissText, replay.Miss},
		} {
			if got := call(t, of, c.name, c.arguments); got.Content != c.want || got.Source != c.source {
				t.Errorf("%s %s = %+v, want %q from %s", c.name, c.arguments, got, c.want, c.source)
			}
		}
		for name, arguments := range map[string]string{"a file that is not there": `{"path":"none"}`, "a way out": `{"path":"../../../etc/passwd"}`, "wrong arguments": `{"file":1}`, "no object": `[1]`, "null": `null`, "no JSON": `{`} {
			if got := call(t, of, "read_file", arguments); !strings.HasPrefix(got.Content, tools.ErrorMark) || got.Source != replay.FromSandbox {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if err := of.(io.Closer).Close(); err != nil || !empty(t, dir) {
			t.Errorf("closing left something behind, error %v", err)
		}
	}
	if string(set["sandboxes/shop/sign.txt"].Data) != "open" || set["sandboxes/shop/new.txt"] != nil {
		t.Error("the set's own sandbox was changed")
	}
}

func TestOnlyTheToolsThatTheFixtureLists(t *testing.T) {
	f := sandboxed(t, "files")
	f.Tools.MCP.Tools = []string{"read_file"}
	of := made(t, &tools.Maker{Files: shop(), Dir: t.TempDir(), Connect: Connect}, f)
	if got := call(t, of, "read_file", `{"path":"sign.txt"}`); got.Source != replay.FromSandbox {
		t.Errorf("%+v", got)
	}
	if got := call(t, of, "write_file", `{"path":"a","content":"b"}`); got.Source != replay.Miss {
		t.Errorf("%+v", got)
	}
}

// scripted is an agent that closes the shop and says what it then reads.
type scripted struct{}

// Complete answers by how many results the conversation has since the user last spoke.
func (scripted) Complete(_ context.Context, r *replay.Request) (*replay.Reply, error) {
	results := 0
	last := ""
	for _, m := range r.Messages {
		switch m.Role {
		case fixtures.RoleUser:
			results = 0
		case fixtures.RoleTool:
			results++
			last = m.Content
		}
	}
	ask := func(name, arguments string) (*replay.Reply, error) {
		return &replay.Reply{Message: fixtures.Message{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "c", Name: name, Arguments: json.RawMessage(arguments)}}}}, nil
	}
	switch results {
	case 0:
		return ask("read_file", `{"path":"sign.txt"}`)
	case 1:
		return ask("write_file", fmt.Sprintf(`{"path":"sign.txt","content":"%s, then closed"}`, last))
	case 2:
		return ask("read_file", `{"path":"sign.txt"}`)
	}
	return &replay.Reply{Message: fixtures.Message{Role: fixtures.RoleAssistant, Content: "the sign says: " + last}}, nil
}

type letters struct{}

func (letters) Count(m fixtures.Message) int { return len(m.Content) }

// The engine plays a fixture whose agent edits a file: every episode starts from the
// set's sandbox, which stays as it is on the disk.
func TestEpisodesInASandbox(t *testing.T) {
	set, scratch := t.TempDir(), t.TempDir()
	if err := os.CopyFS(set, shop()); err != nil {
		t.Fatal(err)
	}
	m := &tools.Maker{Files: os.DirFS(set), Dir: scratch, Connect: Connect}
	f, rec := sandboxed(t, "files"), recording()
	engine := &replay.Engine{
		Settings: replay.Settings{Model: "m", Window: 100_000, Trigger: 0.8, StepLimit: 10, Concurrency: 2},
		Model:    scripted{}, Counter: letters{}, NewTools: m.New, Contexts: replay.NewContexts(t.TempDir()),
		Recording: func(*fixtures.Fixture) (*fixtures.Recording, error) { return rec, nil },
	}
	all := []*fixtures.Fixture{f}
	arms := []replay.Arm{{Name: "reference", Kind: replay.ReferenceArm}, {Name: "control", Kind: replay.ControlArm}}
	plan := replay.Plan{Command: "nightly", Settings: engine.Settings, Fixtures: 1, Replicates: 2, Analysis: json.RawMessage(`{}`)}
	for _, arm := range arms {
		plan.Arms = append(plan.Arms, replay.ArmInfo{Name: arm.Name, Role: arm.Name, Kind: arm.Kind})
	}
	folder, err := replay.OpenFolder(filepath.Join(t.TempDir(), "run"), plan, all, time.Date(2026, 3, 20, 1, 2, 3, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for replicate := range 2 {
		if err := engine.PlayReplicate(t.Context(), folder, all, arms, replicate); err != nil {
			t.Fatal(err)
		}
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil || len(record.Episodes) != 4 {
		t.Fatalf("%d episodes, error %v", len(record.Episodes), err)
	}
	for _, e := range record.Episodes {
		if e.Status != replay.Played {
			t.Fatalf("%s: %s %s", e.Key, e.Status, e.Reason)
		}
		var results []string
		for _, s := range e.Steps {
			if s.Kind == replay.StepCall {
				results = append(results, string(s.Source)+" "+s.Result)
			}
		}
		if got, want := strings.Join(results, "; "), "sandbox open; sandbox written; sandbox open, then closed"; got != want {
			t.Errorf("%s: %s, want %s", e.Key, got, want)
		}
		if last := e.Conduct().FinalText(); last != "the sign says: open, then closed" {
			t.Errorf("%s: the agent says %q", e.Key, last)
		}
	}
	if data, err := os.ReadFile(filepath.Join(set, "sandboxes", "shop", "sign.txt")); err != nil || string(data) != "open" {
		t.Errorf("the set's sandbox says %q, error %v", data, err)
	}
	if !empty(t, scratch) {
		t.Error("an episode's folder is left")
	}
}

// What a server does wrong is a fault of the world, and says what to look at.
func TestServersThatFail(t *testing.T) {
	for _, c := range []struct {
		kind, tool, timeout string
		say                 []string
	}{
		{"silent", "read_file", "100ms", []string{"reaching the MCP server: it did not answer within 100ms"}},
		{"dying", "read_file", "20s", []string{"reaching the MCP server", "stderr: no licence"}},
		{"garbage", "read_file", "20s", []string{"reaching the MCP server"}},
		{"files", "die_read", "20s", []string{"asking the MCP server", "stderr: out of ink"}},
		{"files", "flood_read", "20s", []string{"asking the MCP server"}},
	} {
		t.Run(c.kind+" "+c.tool, func(t *testing.T) {
			f, dir := sandboxed(t, c.kind), t.TempDir()
			f.Tools.MCP.Timeout = fixtures.ToolTimeout(c.timeout)
			of := made(t, &tools.Maker{Files: shop(), Dir: dir, Connect: Connect}, f)
			result, err := of.Call(t.Context(), toolCall(c.tool, `{}`))
			if err == nil {
				t.Fatalf("%+v, no error", result)
			}
			for _, part := range c.say {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if err := of.(io.Closer).Close(); err != nil || !empty(t, dir) {
				t.Errorf("closing left something behind, error %v", err)
			}
		})
	}
	t.Run("no program", func(t *testing.T) {
		f := sandboxed(t, "files")
		f.Tools.MCP.Exec = []string{"no-such-program-anywhere"}
		if _, err := made(t, &tools.Maker{Files: shop(), Connect: Connect}, f).Call(t.Context(), toolCall("read_file", `{}`)); err == nil || !strings.Contains(err.Error(), "starting the server no-such-program-anywhere") {
			t.Errorf("error %v", err)
		}
	})
}

// A call that the server does not answer ends at its timeout, and so does the server.
func TestACallThatIsNotAnswered(t *testing.T) {
	of, err := Connect(t.Context(), tools.Server{Command: []string{ownProgram(t), "serve", "files"}, Dir: t.TempDir(), Env: os.Environ(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	s := of.(*session)
	s.timeout = 20 * time.Millisecond
	if text, err := s.Call(t.Context(), fixtures.ToolCall{Name: "wait_read"}); err == nil || !strings.Contains(err.Error(), "it did not answer within 20ms") {
		t.Errorf("%q, error %v", text, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-s.process.ended
}

// A server sees no key of ours.
func TestTheEnvironmentOfAServer(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-fixtures")
	_, err := made(t, &tools.Maker{Files: shop(), Connect: Connect}, sandboxed(t, "environment")).Call(t.Context(), toolCall("read_file", `{}`))
	if err == nil || !strings.Contains(err.Error(), "HOME=") || strings.Contains(err.Error(), "sk-not") || strings.Contains(err.Error(), "OPENAI") {
		t.Errorf("error %v", err)
	}
}

// remote serves a folder by HTTP.
func remote(t testing.TB, dir string) string {
	t.Helper()
	s := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return fileServer(dir) }, nil))
	t.Cleanup(s.Close)
	return s.URL
}

// at is a fixture with a server at an address.
func at(t testing.TB, url string) *fixtures.Fixture {
	f := sandboxed(t, "files")
	f.Tools.Sandbox, f.Tools.MCP = "", &fixtures.ToolServer{URL: url, Timeout: "20s"}
	return f
}

// Writes don't reach a server that runs already, unless the fixture says so.
func TestAServerAtAnAddress(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sign.txt"), []byte("open"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := at(t, remote(t, dir))
	m := &tools.Maker{Files: shop(), Dir: t.TempDir(), Connect: Connect}
	of := made(t, m, f)
	if got := call(t, of, "read_file", `{"path":"sign.txt"}`); got.Content != "open" || got.Source != replay.FromSandbox {
		t.Errorf("%+v", got)
	}
	write := `{"path":"sign.txt","content":"closed"}`
	if got := call(t, of, "write_file", write); got.Source != replay.Miss {
		t.Errorf("a write: %+v", got)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "sign.txt")); err != nil || string(data) != "open" {
		t.Errorf("the server's file says %q, error %v", data, err)
	}
	f.Tools.Writes = []string{"read_file"} // the fixture knows better than the server
	if got := call(t, made(t, m, f), "read_file", `{"path":"sign.txt"}`); got.Source != replay.Miss {
		t.Errorf("a read that the fixture calls a write: %+v", got)
	}
	f.Tools.MCP.Writes = true
	if got := call(t, made(t, m, f), "write_file", write); got.Content != "written" {
		t.Errorf("a write that the fixture allows: %+v", got)
	}
}

func TestAddressesThatFail(t *testing.T) {
	elsewhere := false
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer target.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	defer redirecting.Close()
	flooding := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range maxMessage>>20 + 2 {
			fmt.Fprint(w, strings.Repeat(" ", 1<<20))
		}
	}))
	defer flooding.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, url := range map[string]string{"gone": gone.URL, "a redirect": redirecting.URL, "a flood": flooding.URL, "no MCP": target.URL, "no address": "ftp://x"} {
		if result, err := made(t, &tools.Maker{Connect: Connect}, at(t, url)).Call(t.Context(), toolCall("read_file", `{}`)); err == nil || !strings.Contains(err.Error(), "reaching the MCP server") {
			t.Errorf("%s: %+v, error %v", name, result, err)
		}
		if name == "a redirect" && elsewhere {
			t.Error("a redirect was followed")
		}
		elsewhere = false
	}
}

func TestConformance(t *testing.T) {
	calls := []fixtures.ToolCall{
		{ID: "a", Name: "write_file", Arguments: json.RawMessage(`{"path":"a.txt","content":"b"}`)},
		{ID: "b", Name: "read_file", Arguments: json.RawMessage(`{"path":"sign.txt"}`)},
		{ID: "c", Name: "list_directory", Arguments: json.RawMessage(`{"path":"."}`)},
	}
	f := sandboxed(t, "files")
	m := &tools.Maker{Files: shop(), Dir: t.TempDir(), Connect: Connect}
	toolstest.TestTools(t, func(t testing.TB) replay.Tools {
		of, err := m.New(f, recording(), 2)
		if err != nil {
			t.Fatal(err)
		}
		return of
	}, calls)
}

// The reference file server, where it is installed.
func TestTheReferenceFileServer(t *testing.T) {
	const program = "mcp-server-filesystem"
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not in PATH; npm install -g @modelcontextprotocol/server-filesystem brings it", program)
	}
	f := sandboxed(t, "files")
	f.Tools.MCP.Exec = []string{program, "."}
	of := made(t, &tools.Maker{Files: shop(), Dir: t.TempDir(), Connect: Connect}, f)
	if got := call(t, of, "write_file", `{"path":"sign.txt","content":"closed"}`); got.Source != replay.FromSandbox || strings.HasPrefix(got.Content, tools.ErrorMark) {
		t.Errorf("%+v", got)
	}
	if got := call(t, of, "read_file", `{"path":"sign.txt"}`); strings.TrimSpace(got.Content) != "closed" {
		t.Errorf("%+v", got)
	}
}
