package compact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/command"
)

// Process is a compactor that is a command that stays: it reads one request a line
// on stdin and prints one answer a line, each with the request's "id". It gets one
// request at a time, and is started at the first. A request during which it ends,
// hangs or prints what is no answer fails, and the next one finds it started anew.
// One that ended with status 0 without a word to a request that was not its first
// has retired: a new one gets that request.
type Process struct {
	exec *Exec
	// turn holds one value while a request or Close has the process.
	turn    chan struct{}
	running *process // nil where none runs
	asked   int      // requests so far, over all processes
	closed  bool
}

// NewProcess makes a compactor of a command that stays. It looks the program up
// and does not start it. Close ends it.
func NewProcess(options ExecOptions) (*Process, error) {
	e, err := NewExec(options)
	if err != nil {
		return nil, err
	}
	return &Process{exec: e, turn: make(chan struct{}, 1)}, nil
}

// Compact asks the process. The timeout counts from when it is this request's turn.
func (p *Process) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	e := p.exec
	input, err := encodeInput(req, e.instructions)
	if err != nil {
		return nil, fmt.Errorf("compactor %s: writing its input: %w", e.name, err)
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-p.turn }()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.closed {
		return nil, fmt.Errorf("compactor %s: it was closed", e.name)
	}
	p.asked++
	id := strconv.Itoa(p.asked)
	limited, stop := context.WithTimeoutCause(ctx, e.options.Timeout, lateError(e.options.Timeout))
	defer stop()
	line, failed, err := p.ask(limited, withID(input, id))
	if ctx.Err() != nil {
		p.end(0)
		return nil, ctx.Err()
	}
	if failed != nil || err != nil {
		return failed, err
	}
	line = e.blank(line)
	var out contractOutput
	err = decodeOne(line, &out, e.from)
	if err == nil {
		err = out.answers(id)
	}
	if err != nil { // whatever it prints next may belong to this request
		stderr := p.end(0)
		return e.failed(fmt.Sprintf("%s %v", e.from.says, err), stderr), nil
	}
	// The line differs in its id from the next answer to the same input.
	compaction, err := out.compaction(fixtures.HashBytes(input), req)
	if err != nil {
		return e.failed(fmt.Sprintf("%s %v", e.from.says, err), p.running.stderr), nil
	}
	return e.finish(compaction, req), nil
}

// withID puts the id before the fields of a request.
func withID(input []byte, id string) []byte {
	return append([]byte(`{"id":"`+id+`",`), input[1:]...)
}

// answers says what is wrong with the id of an answer.
func (out *contractOutput) answers(id string) error {
	var have string
	switch {
	case len(out.ID) == 0:
		return fmt.Errorf(`an answer without "id", want the request's, %q`, id)
	case json.Unmarshal(out.ID, &have) != nil:
		return fmt.Errorf(`an "id" that is no text, want the request's, %q`, id)
	case have != id:
		return fmt.Errorf("an answer to %q, want one to %q: one line a request", excerpt(have, 40), id)
	}
	return nil
}

// ask sends a request to the process, started where none runs, and returns its line.
// Where there is none, the process is ended, and failed is the finding.
func (p *Process) ask(ctx context.Context, request []byte) (line []byte, failed *replay.Compaction, err error) {
	for {
		if p.running != nil && p.running.hasEnded() {
			p.end(0)
		}
		first := p.running == nil
		if first {
			if failed, err := p.start(); failed != nil || err != nil {
				return nil, failed, err
			}
		}
		line, err := p.running.ask(ctx, request)
		if err == nil {
			return line, nil, nil
		}
		running := p.running
		stderr := p.end(0)
		if !errors.Is(err, errEnded) {
			return nil, p.exec.failed(err.Error(), stderr), nil
		}
		if running.exit == nil && !first {
			continue
		}
		reason := "the compactor ended without an answer"
		if running.exit != nil {
			reason = fmt.Sprintf("the compactor ended with %v", running.exit)
		}
		return nil, p.exec.failed(reason, stderr), nil
	}
}

// start starts the process. A program that cannot be started is a finding about it.
func (p *Process) start() (failed *replay.Compaction, err error) {
	running, err := startProcess(p.exec)
	switch {
	case err == nil:
		p.running = running
		return nil, nil
	case command.WorldsFault(err):
		return nil, fmt.Errorf("starting the compactor %s: %w", p.exec.name, err)
	}
	return p.exec.failed(fmt.Sprintf("the compactor could not be started: %v", err), command.NewTail(0)), nil
}

// end ends the process and its children. Where grace is positive it closes stdin and
// leaves them that long first.
func (p *Process) end(grace time.Duration) *command.Tail {
	running := p.running
	if running == nil {
		return command.NewTail(0)
	}
	p.running = nil
	running.stop(grace)
	return running.stderr
}

// Close ends the process: it closes its stdin, and kills it and its children where
// it does not leave by itself. A request after that is an error.
func (p *Process) Close() error {
	p.turn <- struct{}{}
	defer func() { <-p.turn }()
	p.closed = true
	p.end(pipeDelay)
	return nil
}

// Digest names what the output depends on, as [Exec.Digest] does.
func (p *Process) Digest() fixtures.Hash {
	return digestOf("keep_alive", string(p.exec.Digest()))
}

// blankLine says whether a line holds nothing.
func blankLine(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
