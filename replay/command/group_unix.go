//go:build unix

package command

import (
	"errors"
	"os/exec"
	"syscall"
)

// OwnGroup puts the command in a process group of its own that is killed as one; on
// Linux, what leaves the group is killed with it. The command must come from
// exec.CommandContext and have its environment.
func OwnGroup(cmd *exec.Cmd) {
	mark(cmd)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return KillGroup(cmd) }
}

// KillGroup kills a started command and what it started.
func KillGroup(cmd *exec.Cmd) error {
	defer killMarked(cmd)
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// WorldsFault says whether a program could not be started for want of something
// that it has no part in.
func WorldsFault(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
