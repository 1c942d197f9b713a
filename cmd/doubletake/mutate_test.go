package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay/mutant"
)

// The least that the shipped set must catch, and the most that it may cry wolf.
const (
	leastScore = 0.95
	mostAlarms = 0.02
)

// TestShippedSetCatchesBrokenCompactors breaks the ledger's output on the shipped set, in
// ways taken at random. The command without --sample tries all of them.
func TestShippedSetCatchesBrokenCompactors(t *testing.T) {
	inFull(t)
	args := []string{"doubletake", "fixtures", "mutate", "--json", "--sample", "300", "--out", filepath.Join(t.TempDir(), "run")}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var stdout, stderr bytes.Buffer
	if err := newApp(&stdout, &stderr).RunContext(t.Context(), args); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var found analysis.Mutation
	if err := json.Unmarshal(stdout.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	if found.Mutants.Share == nil || *found.Mutants.Share < leastScore {
		t.Errorf("the set catches %d of %d mutants: want %.2f of them", found.Mutants.Caught, found.Mutants.Made, leastScore)
	}
	if found.Rewrites.Share == nil || *found.Rewrites.Share > mostAlarms {
		t.Errorf("%d of %d harmless rewrites are noticed: want at most %.2f of them", found.Rewrites.Caught, found.Rewrites.Made, mostAlarms)
	}
	for _, fates := range [][]analysis.MutantFate{found.Alive, found.Alarms, found.Unknown} {
		for _, f := range fates {
			t.Logf("%s %s: %s %v %s", f.ConversationID, f.Arm(), f.Change, f.By, f.Reason)
		}
	}
	if want := len(mutant.Kinds()) + len(mutant.Rewrites()); len(found.Kinds) != want {
		t.Errorf("%d kinds, want %d", len(found.Kinds), want)
	}
}
