package command_test

import (
	"errors"
	"os"
	"os/exec"
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
