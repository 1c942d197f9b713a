//go:build !unix

package command

import "os/exec"

// OwnGroup leaves the command in our group: here only the command itself can be killed.
func OwnGroup(*exec.Cmd) {}

// KillGroup kills a started command.
func KillGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// WorldsFault says whether a program could not be started for want of something
// that it has no part in.
func WorldsFault(error) bool { return false }
