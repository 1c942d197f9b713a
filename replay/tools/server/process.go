package server

import (
	"context"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/doubletake-dev/doubletake/replay/command"
	"github.com/doubletake-dev/doubletake/replay/tools"
)

// maxStderr is how much of the end of stderr is kept for errors, in bytes.
const maxStderr = 2 << 10

// process is a server that was started.
type process struct {
	cmd    *exec.Cmd
	kill   context.CancelFunc // kills it and its children
	stdin  io.WriteCloser
	stdout *os.File
	stderr *command.Tail
	ended  chan struct{} // closed when it has ended
}

func startProcess(spec tools.Server) (*process, error) {
	stdout, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer end.Close()
	ctx, kill := context.WithCancel(context.Background())
	p := &process{kill: kill, stdout: stdout, stderr: command.NewTail(maxStderr), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, spec.Command[0], spec.Command[1:]...)
	p.cmd.Dir, p.cmd.Env = spec.Dir, spec.Env
	p.cmd.Stdout, p.cmd.Stderr = end, p.stderr
	p.cmd.WaitDelay = graceful
	command.OwnGroup(p.cmd)
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		kill()
		stdout.Close()
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // a server that ends early is seen by its silence
		close(p.ended)
	}()
	return p, nil
}

// await waits until the process has ended and all that it said has come, or for so long.
func (p *process) await(grace time.Duration) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
}

// stop ends the process and all of its group, after leaving it some time to end by
// itself.
func (p *process) stop(grace time.Duration) {
	p.stdin.Close()
	p.await(grace)
	p.kill()
	<-p.ended
	_ = command.KillGroup(p.cmd) // children that it left behind
	p.stdout.Close()
}
