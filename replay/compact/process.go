package compact

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/doubletake-dev/doubletake/replay/command"
)

// process is a command that runs and answers line by line.
type process struct {
	cmd    *exec.Cmd
	kill   context.CancelFunc // kills it and its children
	killed <-chan struct{}
	stdin  io.WriteCloser
	stdout *os.File
	stderr *command.Tail
	lines  chan printedLine // closed at the end of stdout
	ended  chan struct{}    // closed when the command has ended
	exit   error            // how, nil for status 0; not before ended is closed
}

type printedLine struct {
	text []byte
	err  error // io.EOF for a last line without its end, or errTooMuch
}

// errEnded says that a process ended without an answer.
var errEnded = errors.New("the process ended")

// startProcess starts a command.
func startProcess(e *Exec) (*process, error) {
	stdout, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer end.Close()
	ctx, kill := context.WithCancel(context.Background())
	p := &process{
		kill: kill, killed: ctx.Done(), stdout: stdout, stderr: command.NewTail(maxStderr),
		lines: make(chan printedLine), ended: make(chan struct{}),
	}
	p.cmd = exec.CommandContext(ctx, e.options.Command[0], e.options.Command[1:]...)
	p.cmd.Dir, p.cmd.Env = e.options.Dir, e.env
	p.cmd.Stdout, p.cmd.Stderr = end, p.stderr
	p.cmd.WaitDelay = pipeDelay
	command.OwnGroup(p.cmd)
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		kill()
		stdout.Close()
		return nil, err
	}
	go p.readLines()
	go func() {
		if err := p.cmd.Wait(); !errors.Is(err, exec.ErrWaitDelay) {
			p.exit = err
		}
		close(p.ended)
	}()
	return p, nil
}

// readLines passes on what the process prints, line by line.
func (p *process) readLines() {
	defer close(p.lines)
	reader := bufio.NewReaderSize(p.stdout, 64<<10)
	for {
		text, err := readLine(reader, maxAnswer)
		if !blankLine(text) || errors.Is(err, errTooMuch) {
			select {
			case p.lines <- printedLine{text, err}:
			case <-p.killed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line of at most limit bytes. The error is io.EOF, with what there
// was of a line, errTooMuch, or what reading met.
func readLine(reader *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errTooMuch
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// ask sends a request and waits for a line. The error is errEnded or a finding; after
// one the process is of no more use.
func (p *process) ask(ctx context.Context, request []byte) ([]byte, error) {
	p.stderr.Reset()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = p.stdin.Write(request) // fails where the process ends, which is seen below
	}()
	var line printedLine
	var ok bool
	select {
	case line, ok = <-p.lines:
	case <-p.ended:
		// A child may hold stdout, and the answer may still be in it.
		_ = command.KillGroup(p.cmd)
		select {
		case line, ok = <-p.lines:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if line.err != nil && !errors.Is(line.err, io.EOF) {
		return nil, line.err
	}
	if !ok || line.err != nil {
		// It closed its stdout, so it has to end; how says whether the answer is whole.
		switch {
		case !p.endsWithin(ctx, pipeDelay):
			return nil, errors.New("the compactor closed its stdout and did not end")
		case !ok || p.exit != nil:
			return nil, errEnded
		}
		return line.text, nil
	}
	select {
	case <-written:
	case <-p.ended:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return line.text, nil
}

// endsWithin says whether the process ends in that time.
func (p *process) endsWithin(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stop ends the process and all of its group, after grace if there is one.
func (p *process) stop(grace time.Duration) {
	if grace > 0 {
		p.stdin.Close()
		p.endsWithin(context.Background(), grace)
	}
	p.kill()
	<-p.ended
	_ = command.KillGroup(p.cmd) // children that it left behind
	p.stdout.Close()
}
