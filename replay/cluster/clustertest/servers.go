// Package clustertest starts NATS servers with JetStream for a test, in a process of their
// own that is built without the race detector: the detector is there for the code that is
// tested, and the servers' own code fails under it.
package clustertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// program is the main package that runs the servers.
const program = "github.com/doubletake-dev/doubletake/replay/cluster/clustertest/natsservers"

// Group is a group of servers.
type Group struct {
	// URL is their addresses with commas between.
	URL string

	t       testing.TB
	mu      sync.Mutex // held from a command to its answer
	in      io.WriteCloser
	answers *bufio.Reader
}

// Stop ends the server with that number, from 0. Any goroutine may call it; where it fails
// it fails the test.
func (g *Group) Stop(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, err := fmt.Fprintln(g.in, "stop", i)
	var answer string
	if err == nil {
		answer, err = g.answers.ReadString('\n')
	}
	if err != nil || answer != fmt.Sprintln("stopped", i) {
		g.t.Errorf("stopping server %d: answered %q, %v", i, answer, err)
	}
}

// Servers starts so many servers and returns their addresses, as [Start] does.
func Servers(t testing.TB, n int) string {
	t.Helper()
	return Start(t, n).URL
}

// Start starts so many servers, which are one cluster where they are more than one. They
// end with the test. It needs the go command, which builds them once.
func Start(t testing.TB, n int) *Group {
	t.Helper()
	return Configured(t, n, "")
}

// Configured starts servers as [Start] does, by a configuration in the form of
// nats-server's file. It goes before what the servers have by themselves; their address,
// ports and storage are best left out of it.
func Configured(t testing.TB, n int, config string) *Group {
	t.Helper()
	dir := t.TempDir()
	args := []string{"run", "-race=false", program}
	if config != "" {
		file := filepath.Join(dir, "servers.conf")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-config", file)
	}
	var stderr bytes.Buffer
	cmd := exec.Command("go", append(args, strconv.Itoa(n), filepath.Join(dir, "servers"))...)
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := &Group{t: t, in: in, answers: bufio.NewReader(out)}
	t.Cleanup(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		_ = in.Close() // ends them
		_, _ = io.Copy(io.Discard, g.answers)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the servers: %v\n%s", err, stderr.String())
		}
	})
	line, err := g.answers.ReadString('\n')
	if err != nil {
		t.Fatalf("the servers do not start: %v", err)
	}
	g.URL = strings.TrimSpace(line)
	return g
}
