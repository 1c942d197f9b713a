package main

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
)

// TestAWorkerOnAFullDisk takes no jobs, and says why; a worker with room plays them.
func TestAWorkerOnAFullDisk(t *testing.T) {
	disk, _ := smallDisk(t, "size=200k")
	n := clusterNight{url: clustertest.Servers(t, 1), arguments: []string{"--fixture", "forbidden-directory", "--fixture", "too-long-migration"}}
	var unused, out, said bytes.Buffer
	full := n.command(t, false, &unused, "worker", "--cluster", n.url, "--name", "full")
	full.Env = append(full.Env, "TMPDIR="+disk)
	full.Stderr = nil
	stderr, err := full.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := full.Start(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	night := n.nightly(t, false, dir, &out)
	if err := night.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- night.Wait()
		_ = full.Process.Signal(syscall.SIGTERM)
	}()
	lines := bufio.NewScanner(io.TeeReader(stderr, &said))
	for lines.Scan() && !strings.Contains(lines.Text(), "not playing for run") {
	}
	if !strings.Contains(said.String(), "there is no room in this worker's folder") {
		t.Errorf("the worker said:\n%s", said.String())
	}
	n.worker(t, "healthy")
	<-ended
	if code := night.ProcessState.ExitCode(); code != exitBlocked {
		t.Errorf("exit code %d, want %d:\n%s", code, exitBlocked, out.String())
	}
	if episodes := episodesOnce(t, dir); episodes == 0 {
		t.Error("nothing was played")
	}
	_, _ = io.Copy(io.Discard, stderr)
	if err := full.Wait(); err != nil {
		t.Errorf("the worker: %v\n%s", err, said.String())
	}
}
