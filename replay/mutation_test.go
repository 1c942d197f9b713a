package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// TestWantedArmsAloneArePlayed: mutants apply to some fixtures and not to others.
func TestWantedArmsAloneArePlayed(t *testing.T) {
	set, recordings := manyFixtures(4)
	arms := threeArms()
	e := engine(t, modelFunc(replyBy), nil)
	e.Recording = recordings
	e.Wanted = func(f *fixtures.Fixture, arm string) bool { return arm == "reference" || f == set[2] }
	folder := openFolder(t, t.TempDir(), set, arms)
	defer mustClose(t, folder)
	if err := e.Play(t.Context(), folder, set, arms); err != nil {
		t.Fatal(err)
	}
	record, err := ReadRecord(folder.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Episodes) != 6 {
		t.Errorf("%d episodes, want 4 of the reference and 2 of one fixture", len(record.Episodes))
	}
}

func TestCompactionsAlone(t *testing.T) {
	set, recordings := manyFixtures(1)
	asked := modelFunc(func(context.Context, *Request) (*Reply, error) {
		t.Error("the agent was asked")
		return nil, errors.New("nobody here")
	})
	e := engine(t, asked, nil)
	e.Recording = recordings
	records, err := e.Compactions(t.Context(), set[0], compacting(keepLast).Compactor)
	if err != nil || len(records) != 1 || records[0].AfterTurn != 2 || records[0].Status != Compacted {
		t.Errorf("%+v, %v", records, err)
	}
	if fork, err := e.Fork(set[0]); err != nil || fork != 2 {
		t.Errorf("fork after turn %d, %v", fork, err)
	}
	down := compactorFunc(func(context.Context, *CompactRequest) (*Compaction, error) { return nil, errors.New("no route") })
	if _, err := e.Compactions(t.Context(), set[0], down); !errors.Is(err, ErrCutShort) || !strings.Contains(err.Error(), "no route") {
		t.Errorf("a provider that is down: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	ends := compactorFunc(func(ctx context.Context, _ *CompactRequest) (*Compaction, error) { return nil, ctx.Err() })
	if _, err := e.Compactions(ctx, set[0], ends); !errors.Is(err, context.Canceled) || errors.Is(err, ErrCutShort) {
		t.Errorf("the end of the context: %v", err)
	}
	e.Recording = func(*fixtures.Fixture) (*fixtures.Recording, error) { return nil, os.ErrNotExist }
	if _, err := e.Compactions(t.Context(), set[0], down); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrCutShort) {
		t.Errorf("a recording that is not there: %v", err)
	}
}

func TestMutationsComeBackAsWritten(t *testing.T) {
	dir := t.TempDir()
	want := &Mutations{
		Version: MutationsVersion, Compactor: "ledger", Seed: 3, Sample: 1, Candidates: 9, Kinds: []MutantKind{{Kind: "drop", Means: "an item is left out"}},
		Mutants: []Mutant{{Fixture: "00", ConversationID: "a", Kind: "drop", Place: "c1", Item: "c1", Class: fixtures.Constraint, AfterTurn: 4, Change: "left out: <x>"}},
		NotMade: []NotMade{{Kind: "drop", Reason: "the item is not in force", Count: 2}},
	}
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadMutations(dir)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for content, says := range map[string]string{`{"version": 99}`: "version 99", `{`: MutantsFile, `{"version": 0}`: "version 0"} {
		if err := os.WriteFile(filepath.Join(dir, MutantsFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadMutations(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want ...%s...", content, err, says)
		}
	}
}
