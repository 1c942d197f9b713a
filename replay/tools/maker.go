package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Maker makes the tools of the episodes of a set.
type Maker struct {
	// Files are the files of the set.
	Files fs.FS
	// Dir is where the folders of episodes are made; empty is the system's folder for
	// temporary files.
	Dir string
	// Connect reaches the MCP servers of fixtures; nil refuses the fixtures that name one.
	Connect func(context.Context, Server) (Session, error)
}

// Server is an MCP server that an episode is to have.
type Server struct {
	// Command is the program, by its whole path or to be found in PATH, and its arguments.
	Command []string
	// Dir is the episode's copy of the sandbox, in which the program runs with the
	// environment Env and nothing else.
	Dir string
	Env []string
	// URL is the address of a server that runs already, where there is no command.
	URL string
	// Timeout bounds the start and each call.
	Timeout time.Duration
}

// Session is a server as one episode has it. Its calls come one at a time.
type Session interface {
	// Offers says whether the server has the tool, and what it says of its effects.
	Offers(tool string) (Effect, bool)
	// Call calls a tool and returns the text that the agent gets.
	Call(ctx context.Context, call fixtures.ToolCall) (string, error)
	// Close ends the session, and the server where it was started for the episode.
	Close() error
}

// Effect is what a server says of the effects of a tool.
type Effect int

// The effects.
const (
	Unsaid    Effect = iota
	ReadsOnly        // it says that it changes nothing
	Changes          // it says that it may change something
)

// ErrorMark begins the text of a call that its tool answered with an error.
const ErrorMark = "Error: "

// New makes the tools of one episode, as [replay.Engine] wants it. What it starts it
// starts at the first call that needs it, in a folder of the episode's own; closing the
// tools ends and removes all of it.
func (m *Maker) New(f *fixtures.Fixture, rec *fixtures.Recording, fork int) (replay.Tools, error) {
	tape, err := newTape(f, rec, fork)
	if err != nil || f.Tools == nil || f.Tools.Simulator == nil && f.Tools.MCP == nil {
		return tape, err
	}
	if f.Tools.MCP != nil && m.Connect == nil {
		return nil, fmt.Errorf("fixture %s: tools.mcp: this program has no client for MCP servers; leave the fixture out", f.ConversationID)
	}
	w := &workshop{
		fixture: f, tape: tape, connect: m.Connect, known: rec.ToolNames(),
		folder: folder{parent: m.Dir, files: m.Files, sandbox: f.Tools.Sandbox},
	}
	if f.Tools.Simulator != nil {
		w.simulator = &simulator{fixture: f, spec: f.Tools.Simulator, folder: &w.folder}
	}
	return w, nil
}

// workshop is the tools of an episode whose fixture names a simulator or a server.
type workshop struct {
	mu        sync.Mutex // one call at a time: the world that they change is one
	fixture   *fixtures.Fixture
	tape      *Tape
	known     []string // the tools that the recording has
	folder    folder
	simulator *simulator
	connect   func(context.Context, Server) (Session, error)
	session   Session
	closed    bool
}

var errClosed = errors.New("the episode's tools were closed")

// Call answers one call, in the order that the fixture says.
func (w *workshop) Call(ctx context.Context, call replay.ToolCall) (*replay.ToolResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if w.closed {
		return nil, errClosed
	}
	if w.fixture.Tools.First == fixtures.SandboxFirst {
		return ask(ctx, call, w.tape.stubbed, w.simulated, w.served, w.tape.recorded)
	}
	return ask(ctx, call, w.tape.recorded, w.tape.stubbed, w.simulated, w.served)
}

func (w *workshop) simulated(ctx context.Context, call replay.ToolCall) (*replay.ToolResult, error) {
	if w.simulator == nil || !slices.Contains(w.simulator.spec.Tools, call.Name) {
		return nil, nil
	}
	text, err := w.simulator.answer(ctx, call)
	if err != nil {
		return nil, err
	}
	return &replay.ToolResult{Content: text, Source: replay.FromSimulator}, nil
}

// served answers from the server: only for a tool that the recording has, too, and only
// where what the call may change is the episode's own.
func (w *workshop) served(ctx context.Context, call replay.ToolCall) (*replay.ToolResult, error) {
	spec := w.fixture.Tools.MCP
	if spec == nil || !slices.Contains(w.known, call.Name) || len(spec.Tools) > 0 && !slices.Contains(spec.Tools, call.Name) {
		return nil, nil
	}
	if w.session == nil {
		session, err := w.start(ctx, spec)
		if err != nil {
			return nil, fmt.Errorf("reaching the MCP server: %w", err)
		}
		w.session = session
	}
	effect, offered := w.session.Offers(call.Name)
	if !offered || spec.URL != "" && !spec.Writes && !harmless(w.fixture, call.Name, effect) {
		return nil, nil
	}
	text, err := w.session.Call(ctx, call.ToolCall)
	if err != nil {
		return nil, fmt.Errorf("asking the MCP server: %w", err)
	}
	return &replay.ToolResult{Content: text, Source: replay.FromSandbox}, nil
}

// harmless says whether a call changes nothing, by the fixture and by its server. What
// neither is sure of is not harmless.
func harmless(f *fixtures.Fixture, tool string, effect Effect) bool {
	switch class := f.CallClass(tool); effect {
	case Changes:
		return false
	case ReadsOnly:
		return class != fixtures.WriteCall
	default:
		return class == fixtures.ReadCall
	}
}

func (w *workshop) start(ctx context.Context, spec *fixtures.ToolServer) (Session, error) {
	server := Server{URL: spec.URL, Timeout: spec.Timeout.Duration()}
	if spec.URL == "" {
		var err error
		if server.Command, err = w.folder.program("server", spec.Exec, spec.Files); err != nil {
			return nil, err
		}
		server.Dir, server.Env = w.folder.work(), w.folder.env()
	}
	return w.connect(ctx, server)
}

// Close ends what was started and removes the episode's folder.
func (w *workshop) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	var err error
	if w.session != nil {
		err = w.session.Close()
		w.session = nil
	}
	return errors.Join(err, w.folder.remove())
}
