package command_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay/command"
)

func TestCapped(t *testing.T) {
	over, fulls := errors.New("over"), 0
	c := command.NewCapped(5, over, func() { fulls++ })
	for _, w := range []struct {
		text string
		err  error
		hold string
	}{{"abc", nil, "abc"}, {"def", over, "abc"}, {"de", nil, "abcde"}, {"f", over, "abcde"}, {"", nil, "abcde"}} {
		if _, err := c.Write([]byte(w.text)); err != w.err || string(c.Bytes()) != w.hold {
			t.Errorf("after %q: %q, error %v", w.text, c.Bytes(), err)
		}
	}
	if fulls != 2 {
		t.Errorf("it was full %d times", fulls)
	}
}

func TestTail(t *testing.T) {
	tail := command.NewTail(4)
	for text, want := range map[string]string{"ab": "ab", "abcd": "abcd", "abcdefgh": "efgh", "": ""} {
		tail.Reset()
		for _, r := range text {
			if n, err := tail.Write([]byte(string(r))); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := string(tail.All()); got != want {
			t.Errorf("%q leaves %q, want %q", text, got, want)
		}
	}
	if n, err := command.NewTail(0).Write([]byte("abc")); n != 3 || err != nil {
		t.Errorf("one that holds nothing: %d, %v", n, err)
	}
}

// A program that cannot be started is its own fault, not the machine's.
func TestWorldsFault(t *testing.T) {
	err := exec.Command(t.TempDir()).Start()
	if err == nil || command.WorldsFault(err) || command.WorldsFault(nil) || command.WorldsFault(os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// Killing the group ends a command that waits for what it started.
func TestKillGroup(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 1000 & echo started; wait")
	command.OwnGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no shell: %v", err)
	}
	line := make([]byte, len("started"))
	if _, err := out.Read(line); err != nil || !strings.HasPrefix("started", string(line)) {
		t.Fatalf("%q, %v", line, err)
	}
	if err := command.KillGroup(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
}

// TestWhatLeavesItsGroupIsKilled: a process in a session of its own goes with the command.
func TestWhatLeavesItsGroupIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells such processes apart")
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("no setsid here")
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' & wait")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	command.OwnGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := command.KillGroup(cmd); err != nil {
		t.Fatal(err)
	}
	// The pipe ends only when nobody holds it any more.
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(state), ") Z ") {
		t.Errorf("process %d is still there: %s", pid, state)
	}
}
