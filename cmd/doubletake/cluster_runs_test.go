package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
)

// told runs a command to its end and returns what it said; its exit code is to be the one
// that is given.
func told(t *testing.T, code int, cmd *exec.Cmd) string {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("%q ended with %d, want %d:\n%s", cmd.Args[1:], got, code, out.String())
	}
	return out.String()
}

// TestLookingAtAClusterMakesNothing: a mistyped prefix is said, and is as empty afterwards.
func TestLookingAtAClusterMakesNothing(t *testing.T) {
	url := clustertest.Servers(t, 1)
	for range 2 { // the first time leaves nothing for the second one
		for _, args := range [][]string{{"--status"}, {"--status", "--json"}, {"--drop", "RUN"}} {
			text := told(t, exitUsage, doubletake(t, append([]string{"worker", "--cluster", url, "--cluster-prefix", "mistyped"}, args...)...))
			if !strings.Contains(text, `under the cluster's prefix "mistyped"`) || !strings.Contains(text, "--cluster-prefix") {
				t.Errorf("%v said:\n%s", args, text)
			}
		}
		text := told(t, exitOK, doubletake(t, "doctor", "--no-calls", "--cluster", url, "--cluster-prefix", "mistyped"))
		if !strings.Contains(text, "no night and no worker was there yet under this prefix") {
			t.Errorf("doctor said:\n%s", text)
		}
	}
}

// TestARunWhoseLeaderIsKilled is said to have no leader, is not played by a worker, and can
// be ended.
func TestARunWhoseLeaderIsKilled(t *testing.T) {
	url := clustertest.Servers(t, 1)
	n := clusterNight{url: url, arguments: []string{"--fixture", "wrong-database"}}
	var out bytes.Buffer
	leader := n.nightly(t, false, t.TempDir(), &out)
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	n.ready(t, ": 3 queued")
	run := regexp.MustCompile(`\S+ \([0-9a-f]{16}\)`).FindString(n.status(t))
	run, _, _ = strings.Cut(run, " ")
	drop := func(code int, run string) string {
		return told(t, code, n.command(t, false, &out, "worker", "--cluster", url, "--drop", run))
	}
	if text := drop(exitUsage, run); !strings.Contains(text, "the run has a leader") {
		t.Errorf("said:\n%s", text)
	}
	if err := leader.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = leader.Wait()
	n.ready(t, "no leader: its jobs wait until the same nightly goes on; doubletake worker --drop "+run)
	n.worker(t, "one")
	n.ready(t, "workers: 1\n")
	if text := drop(exitUsage, "another"); !strings.Contains(text, cluster.ErrUnknownRun.Error()) {
		t.Errorf("said:\n%s", text)
	}
	if text, want := drop(exitOK, run), fmt.Sprintf("dropped run %s: 3 jobs, 0 results\n", run); text != want {
		t.Errorf("said %q, want %q", text, want)
	}
	if status := n.status(t); !strings.Contains(status, "runs: 0\n") {
		t.Errorf("the status is:\n%s", status)
	}
}

// TestFleetTrouble: who does not play, and who cannot store what it played, is said.
func TestFleetTrouble(t *testing.T) {
	s := &cluster.Status{
		Workers: []cluster.WorkerStatus{
			{Name: "one", Slots: 8, Unstored: map[string]cluster.Unstored{"ab": {Why: "the bucket d is full", Full: true}}},
			{Name: "two", Slots: 8, Refused: map[string]string{"ab": "another program"}},
		},
		Runs: []cluster.RunStatus{{Run: "id", Name: "ab", Led: true}, {Run: "dead", Name: "cd", Queued: 2}},
	}
	want := "fleet: 1 worker, 8 episodes at once; two does not play: another program; one cannot store what it played: the bucket d is full"
	if got := fleetLine(s, "id"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var out bytes.Buffer
	printStatus(&out, s)
	for _, want := range []string{
		"    cannot store what it played of run ab: the bucket d is full\n",
		"  id (ab): 0 queued, 0 running, 0 given to more than one worker\n  dead (cd): 2 queued",
		"    no leader: its jobs wait until the same nightly goes on; doubletake worker --drop dead ends it\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
