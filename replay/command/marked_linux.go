package command

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// markName is the variable that tells a command's descendants from all other processes.
const markName = "DOUBLETAKE_COMMAND"

// mark puts a mark of its own into the environment of a command that is not started yet.
// What it starts inherits the mark, in whatever group or session it then is.
func mark(cmd *exec.Cmd) {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], markName+"="+rand.Text())
}

// killMarked kills all that bears the command's mark. What drops its environment on
// purpose gets away.
func killMarked(cmd *exec.Cmd) {
	entry := ""
	for _, variable := range cmd.Env {
		if strings.HasPrefix(variable, markName+"=") {
			entry = variable // the last one counts
		}
	}
	if entry == "" {
		return
	}
	// What is found may have started another meanwhile.
	const rounds = 4
	for range rounds {
		if !killBearers(entry) {
			return
		}
	}
}

// killBearers kills the processes in whose environment the entry stands, and says
// whether there were any.
func killBearers(entry string) bool {
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return false
	}
	found := false
	want := []byte(entry)
	for _, path := range list {
		data, err := os.ReadFile(path) // those of others can't be read, and are none of ours
		if err != nil {
			continue
		}
		for variable := range bytes.SplitSeq(data, []byte{0}) {
			if !bytes.Equal(variable, want) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
			}
			break
		}
	}
	return found
}
