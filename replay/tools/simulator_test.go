package tools

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/tools/toolstest"
)

func TestASimulatorAnswersItsTools(t *testing.T) {
	dir := t.TempDir()
	m := &Maker{Files: shop(), Dir: dir}
	f := simulated(t)
	f.Stubs = []fixtures.Stub{{When: `tool == 'act' && step == 3 && (args.stub ?? false)`, Result: "stubbed"}}
	rec := recorded(`search {"q":"taped"} = from the tape`)
	for range 2 { // the second episode starts anew
		tools := made(t, m, f, rec)
		for _, c := range []struct {
			name, arguments, want string
			source                replay.ToolSource
		}{
			{"search", `{"q":"taped"}`, "from the tape", replay.FromTape},
			{"search", `{"q":"boots"}`, `call 1, noted 1, step 3, turn 9, f {"q":"boots"}, shop open`, replay.FromSimulator},
			{"act", `{"stub":true}`, "stubbed", replay.FromStub},
			{"act", ``, `call 2, noted 2, step 3, turn 9, f {}, shop open`, replay.FromSimulator},
			{"act", `{"broken`, `call 3, noted 3, step 3, turn 9, f "{\"broken", shop open`, replay.FromSimulator},
			{"other", `{}`, MissText, replay.Miss},
		} {
			if got := call(t, tools, c.name, c.arguments); got.Content != c.want || got.Source != c.source {
				t.Errorf("%s %s = %+v, want %q from %s", c.name, c.arguments, got, c.want, c.source)
			}
		}
		if err := tools.(io.Closer).Close(); err != nil || !empty(t, dir) {
			t.Errorf("closing left something behind, error %v", err)
		}
	}
}

func TestTheSandboxFirst(t *testing.T) {
	f := simulated(t)
	f.Tools.First = fixtures.SandboxFirst
	f.Stubs = []fixtures.Stub{{When: `(args.q ?? '') == 'stub'`, Result: "stubbed"}}
	tools := made(t, &Maker{Files: shop(), Dir: t.TempDir()}, f, recorded(`search {"q":"x"} = tape`, `search {"q":"stub"} = tape`, `read {} = tape`))
	for _, c := range []struct {
		name, arguments string
		source          replay.ToolSource
	}{
		{"search", `{"q":"x"}`, replay.FromSimulator}, {"search", `{"q":"stub"}`, replay.FromStub}, {"read", `{}`, replay.FromTape}, {"read", `{"a":1}`, replay.Miss},
	} {
		if got := call(t, tools, c.name, c.arguments); got.Source != c.source {
			t.Errorf("%s %s = %+v, want it from %s", c.name, c.arguments, got, c.source)
		}
	}
}

func TestTheTapeReadsArgumentsByTheFixturesRules(t *testing.T) {
	f := &fixtures.Fixture{Tools: &fixtures.ToolSettings{Normalise: []fixtures.ToolRule{{Argument: "path", As: fixtures.AsPath, Root: "/repo"}, {Argument: "at", As: fixtures.Ignored}}}}
	tools := made(t, &Maker{}, f, recorded(`read {"path":"/repo/a","at":"09:00"} = first`, `read {"path":"./a","at":"09:05"} = second`))
	for _, want := range []string{"first", "second", "second"} {
		if got := call(t, tools, "read", `{"at":"later","path":"b/../a"}`); got.Content != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
	if got := call(t, tools, "read", `{"path":"/a"}`); got.Source != replay.Miss {
		t.Errorf("another path: %+v", got)
	}
}

// What a simulator does wrong is a fault of the world, and says what to look at.
func TestSimulatorsThatFail(t *testing.T) {
	for _, c := range []struct {
		how, timeout string
		say          []string
	}{
		{"hang", "50ms", []string{"simulate hang did not answer within 50ms"}},
		{"fail", "20s", []string{"ended with exit status 4", "stderr: the rates are not there"}},
		{"flood", "20s", []string{"printed more than 4 MiB"}},
		{"garbage", "20s", []string{"printed what is no answer", "logs belong on stderr"}},
		{"silent", "20s", []string{"printed nothing on stdout"}},
	} {
		t.Run(c.how, func(t *testing.T) {
			f := simulated(t, c.how)
			f.Tools.Simulator.Timeout = fixtures.ToolTimeout(c.timeout)
			dir := t.TempDir()
			tools := made(t, &Maker{Files: shop(), Dir: dir}, f, recorded())
			result, err := tools.Call(t.Context(), replay.ToolCall{ToolCall: fixtures.ToolCall{Name: "act"}})
			if err == nil || result != nil {
				t.Fatalf("%+v, no error", result)
			}
			for _, part := range c.say {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if err := tools.(io.Closer).Close(); err != nil || !empty(t, dir) {
				t.Errorf("closing left something behind, error %v", err)
			}
		})
	}
	t.Run("no program", func(t *testing.T) {
		f := simulated(t)
		f.Tools.Simulator.Exec = []string{"no-such-program-anywhere"}
		if _, err := made(t, &Maker{Files: shop()}, f, recorded()).Call(t.Context(), replay.ToolCall{ToolCall: fixtures.ToolCall{Name: "act"}}); err == nil || !strings.Contains(err.Error(), "starting the simulator no-such-program-anywhere") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an error of the tool is an answer", func(t *testing.T) {
		if got := call(t, made(t, &Maker{Files: shop()}, simulated(t, "error"), recorded()), "act", "{}"); got.Content != "Error: no such order" || got.Source != replay.FromSimulator {
			t.Errorf("%+v", got)
		}
	})
	t.Run("the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := made(t, &Maker{Files: shop()}, simulated(t, "hang"), recorded()).Call(ctx, replay.ToolCall{ToolCall: fixtures.ToolCall{Name: "act"}}); err != context.Canceled {
			t.Errorf("error %v", err)
		}
	})
}

// A simulator sees no key of ours and no setting of anybody's.
func TestTheEnvironmentOfASimulator(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-fixtures")
	t.Setenv("DOUBLETAKE_OUT", "runs")
	dir := t.TempDir()
	text := call(t, made(t, &Maker{Files: shop(), Dir: dir}, simulated(t, "environment"), recorded()), "act", "{}").Content
	for _, line := range strings.Split(text, "\n") {
		name, value, _ := strings.Cut(line, "=")
		switch name {
		case "PATH", "PATHEXT", "SystemRoot", "ComSpec", "LANG", "TZ", "PWD":
		case "DOUBLETAKE_COMMAND": // the mark by which what it starts is found and killed
		case "HOME", "TMPDIR", "TMP", "TEMP":
			if !strings.HasPrefix(value, dir) {
				t.Errorf("%s leads out of the episode's folder", line)
			}
		default:
			t.Errorf("the simulator sees %s", name)
		}
	}
}

func TestProgramsOfTheSet(t *testing.T) {
	f := folder{parent: t.TempDir(), files: shop()}
	words, err := f.program("simulator", []string{"python3", "sandboxes/shop/src/a.txt", "--deep", "none.txt"}, []string{"sim/rates.txt"})
	if err != nil {
		t.Fatal(err)
	}
	if words[0] != "python3" || words[2] != "--deep" || words[3] != "none.txt" || !strings.HasPrefix(words[1], f.dir) || !strings.HasSuffix(words[1], "a.txt") {
		t.Errorf("command %q", words)
	}
	if _, err := f.program("other", []string{"../x"}, nil); err == nil {
		t.Error("a program outside the set is taken")
	}
	if err := f.remove(); err != nil || !empty(t, f.parent) {
		t.Errorf("the folder is left, error %v", err)
	}
}

func TestConformance(t *testing.T) {
	call := func(name, arguments string) fixtures.ToolCall {
		return fixtures.ToolCall{ID: "c", Name: name, Arguments: json.RawMessage(arguments)}
	}
	t.Run("tape", func(t *testing.T) {
		f := &fixtures.Fixture{Stubs: []fixtures.Stub{{When: "tool == 'stub'", Result: "s"}}}
		toolstest.TestTools(t, func(t testing.TB) replay.Tools {
			return tape(t, f, recorded(`read {"p":1} = one`, `read {"p":1} = two`), 0)
		}, []fixtures.ToolCall{call("read", `{"p":1}`), call("read", `{"p":1.0}`), call("stub", `{}`)})
	})
	t.Run("simulator", func(t *testing.T) {
		f := simulated(t)
		m := &Maker{Files: shop(), Dir: t.TempDir()}
		toolstest.TestTools(t, func(t testing.TB) replay.Tools {
			tools, err := m.New(f, recorded(`read {"p":1} = one`), 0)
			if err != nil {
				t.Fatal(err)
			}
			return tools
		}, []fixtures.ToolCall{call("search", `{"q":1}`), call("read", `{"p":1}`), call("act", `{}`)})
	})
}

// Whatever a simulator prints, it is an answer with one text or an error.
func FuzzDecodeSimulatorAnswer(f *testing.F) {
	for _, seed := range []string{``, `{"result":"a"}`, `{"error":"b","state":{"n":1}}`, `{"result":"a","error":"b"}`, `{"result":1}`, `null`, `[]`, `{"result":"a"} {}`, `{"results":"a"}`, `{"result":"\ud800"}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, printed []byte) {
		a, err := DecodeSimulatorAnswer(printed)
		if err != nil {
			return
		}
		if (a.Result == nil) == (a.Error == nil) {
			t.Errorf("%q gave %+v", printed, a)
		}
		if a.Error != nil && !strings.HasPrefix(a.Text(), ErrorMark) {
			t.Errorf("%q: the error is not marked", printed)
		}
		if len(a.State) > 0 && !json.Valid(a.State) {
			t.Errorf("%q gave the state %q", printed, a.State)
		}
	})
}
