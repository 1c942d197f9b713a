package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/command"
)

const (
	// SimulatorVersion is the version of what a simulator reads.
	SimulatorVersion = 1
	// maxAnswer bounds what a simulator prints for a call, in bytes.
	maxAnswer = 4 << 20
	// quoted is how much of stderr's end an error quotes.
	quoted = 2 << 10
	// pipeDelay is how long a process that outlives the command may hold its pipes.
	pipeDelay = 2 * time.Second
)

// simulator runs a fixture's program, once for each call.
type simulator struct {
	fixture *fixtures.Fixture
	spec    *fixtures.ToolSimulator
	folder  *folder
	command []string        // nil until its files are copied
	state   json.RawMessage // what it gave back last
}

// SimulatorRequest is what a simulator reads: one JSON object on stdin.
type SimulatorRequest struct {
	Version int    `json:"version"`
	Fixture string `json:"fixture"`
	// Step counts the episode's calls from 1, Turn is the turn that they stand in.
	Step int    `json:"step"`
	Turn int    `json:"turn"`
	Tool string `json:"tool"`
	// Arguments are those of the call; a text where they were no JSON.
	Arguments json.RawMessage `json:"arguments"`
	// State is what the simulator gave back at the episode's call before; left out at
	// the first.
	State json.RawMessage `json:"state,omitempty"`
}

// SimulatorAnswer is what a simulator prints: one JSON object on stdout, with either a
// result or an error.
type SimulatorAnswer struct {
	// Result is the text that the agent gets; Error is one, too, marked as an error.
	Result *string `json:"result"`
	Error  *string `json:"error"`
	// State goes to the next call of the episode; left out, the old one does.
	State json.RawMessage `json:"state"`
}

// Text is what the agent gets.
func (a *SimulatorAnswer) Text() string {
	if a.Error != nil {
		return ErrorMark + *a.Error
	}
	if a.Result != nil {
		return *a.Result
	}
	return ""
}

// DecodeSimulatorAnswer reads what a simulator printed. It takes one JSON object, with
// one of result and error and no field that the format does not have.
func DecodeSimulatorAnswer(printed []byte) (*SimulatorAnswer, error) {
	if len(bytes.TrimSpace(printed)) == 0 {
		return nil, errors.New("printed nothing on stdout: want a JSON object with result or error")
	}
	dec := json.NewDecoder(bytes.NewReader(printed))
	dec.DisallowUnknownFields()
	var a *SimulatorAnswer
	if err := dec.Decode(&a); err != nil {
		return nil, fmt.Errorf("printed what is no answer: %w; want one JSON object with result or error (logs belong on stderr)", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("printed more than one JSON value (logs belong on stderr)")
	}
	if a == nil || (a.Result == nil) == (a.Error == nil) {
		return nil, errors.New("printed an answer without exactly one of result and error, both texts")
	}
	return a, nil
}

// answer runs the program for a call.
func (s *simulator) answer(ctx context.Context, call replay.ToolCall) (string, error) {
	if s.command == nil {
		words, err := s.folder.program("simulator", s.spec.Exec, s.spec.Files)
		if err != nil {
			return "", fmt.Errorf("preparing the simulator: %w", err)
		}
		s.command = words
	}
	input, err := s.request(call)
	if err != nil {
		return "", fmt.Errorf("asking the simulator: %w", err)
	}
	printed, err := s.run(ctx, input)
	if err != nil {
		return "", err
	}
	a, err := DecodeSimulatorAnswer(printed)
	if err != nil {
		return "", fmt.Errorf("the simulator %s %w", strings.Join(s.spec.Exec, " "), err)
	}
	if len(a.State) > 0 {
		s.state = a.State
	}
	return a.Text(), nil
}

func (s *simulator) request(call replay.ToolCall) ([]byte, error) {
	arguments := call.Arguments
	switch {
	case len(arguments) == 0:
		arguments = json.RawMessage("{}")
	case !json.Valid(arguments):
		quoted, err := fixtures.MarshalPlain(string(arguments))
		if err != nil {
			return nil, err
		}
		arguments = quoted
	}
	return fixtures.MarshalPlain(SimulatorRequest{
		Version: SimulatorVersion, Fixture: s.fixture.ConversationID, Step: call.Step, Turn: call.Turn,
		Tool: call.Name, Arguments: arguments, State: s.state,
	})
}

// run runs the program once and returns what it printed.
func (s *simulator) run(ctx context.Context, input []byte) ([]byte, error) {
	name := strings.Join(s.spec.Exec, " ")
	timeout := s.spec.Timeout.Duration()
	late := fmt.Errorf("did not answer within %v", timeout)
	limited, stop := context.WithTimeoutCause(ctx, timeout, late)
	defer stop()
	running, kill := context.WithCancelCause(limited)
	defer kill(nil)
	tooMuch := fmt.Errorf("printed more than %d MiB", maxAnswer>>20)
	stdout := command.NewCapped(maxAnswer, tooMuch, func() { kill(tooMuch) })
	stderr := command.NewTail(quoted)
	cmd := exec.CommandContext(running, s.command[0], s.command[1:]...)
	cmd.Dir, cmd.Env = s.folder.work(), s.folder.env()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), stdout, stderr
	cmd.WaitDelay = pipeDelay
	command.OwnGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the simulator %s: %w", name, err)
	}
	err := cmd.Wait()
	_ = command.KillGroup(cmd) // nothing that it started outlives its call
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if cause := context.Cause(running); cause != nil {
		err = cause
	} else if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	} else if err != nil {
		err = fmt.Errorf("ended with %w", err)
	}
	if err != nil {
		if said := bytes.TrimSpace(stderr.All()); len(said) > 0 {
			err = fmt.Errorf("%w; stderr: %s", err, strings.ToValidUTF8(string(said), "\ufffd"))
		}
		return nil, fmt.Errorf("the simulator %s %w", name, err)
	}
	return stdout.Bytes(), nil
}
