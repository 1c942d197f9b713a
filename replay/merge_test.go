package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// shardedNight is a set played in shards: where each lies, and the one run it should make.
type shardedNight struct {
	root string
	set  []*fixtures.Fixture
	arms []Arm
	of   int
}

func (n *shardedNight) dir(index int) string { return filepath.Join(n.root, fmt.Sprintf("s%d", index)) }

func (n *shardedNight) dirs() []string {
	var list []string
	for i := range n.of {
		list = append(list, n.dir(i+1))
	}
	return list
}

// playShards plays nothing, and journals what would have been played.
func playShards(t *testing.T, of int) *shardedNight {
	t.Helper()
	n := &shardedNight{root: t.TempDir(), arms: []Arm{reference(), compacting(keepLast)}, of: of}
	for i := range 12 {
		f := fixtureOf(fmt.Sprintf("f%02d", i), 2)
		f.MustSurvive = []fixtures.Item{{ID: "c1", Class: fixtures.Constraint, Turn: 1, Literal: "x"}}
		n.set = append(n.set, f)
	}
	for index := 1; index <= of; index++ {
		shard := NewShard(index, of, n.set)
		part := shard.Part(n.set)
		plan := planOf(part, n.arms)
		plan.Shard = shard
		folder, err := OpenFolder(n.dir(index), plan, part, testTime.Add(time.Duration(index)*time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		n.fill(t, folder, part)
		ended := testTime.Add(time.Hour)
		if err := folder.SetEnded(&ended); err != nil {
			t.Fatal(err)
		}
		mustClose(t, folder)
	}
	return n
}

// fill journals the episodes of fixtures, in an order of its own.
func (n *shardedNight) fill(t *testing.T, folder *Folder, part []*fixtures.Fixture) {
	t.Helper()
	cost := 0.25
	common := Exchange{For: "agent", Key: fixtures.HashBytes([]byte("asked in every shard")), Usage: Usage{PromptTokens: 10, CompletionTokens: 2}, CostUSD: &cost}
	for _, f := range slices.Backward(part) {
		before, err := folder.Contexts.Put([]fixtures.Message{{Turn: 1, Role: fixtures.RoleUser, Content: f.ConversationID}})
		if err != nil {
			t.Fatal(err)
		}
		for _, arm := range n.arms {
			e := &Episode{Key: Key{Fixture: f.Hash, Arm: arm.Name}, ConversationID: f.ConversationID, Status: Played, Context: before}
			own := common
			own.Key = fixtures.HashBytes([]byte(f.ConversationID + arm.Name))
			e.Exchanges = []Exchange{common, own}
			if arm.Kind == CompactorArm {
				e.Compactions = []CompactionRecord{{AfterTurn: 2, Status: Compacted, Before: before, After: before}}
				j := &Judgement{Key: e.Key, Item: "c1", Verdict: Verbatim, Context: before}
				if err := folder.Judgements.Append(j); err != nil {
					t.Fatal(err)
				}
			}
			if err := folder.Episodes.Append(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(part) > 0 {
		control := &Control{ID: "present-" + part[0].ConversationID, Judge: folder.Run.Plan.Lineage.Judge(), Verdict: Supported}
		if err := folder.Controls.Append(control); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShardsMakeTheRunOfOneMachine holds a merged run against the run that one machine
// left, record by record.
func TestShardsMakeTheRunOfOneMachine(t *testing.T) {
	const of = 5
	n := playShards(t, of)
	one := filepath.Join(n.root, "one")
	folder := openFolder(t, one, n.set, n.arms)
	n.fill(t, folder, n.set)
	mustClose(t, folder)

	out := filepath.Join(n.root, "deep", "night")
	dirs := n.dirs()
	slices.Reverse(dirs)
	run, err := Merge(out, dirs)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ReadRecord(one)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadRecord(out)
	if err != nil {
		t.Fatal(err)
	}
	for what, pair := range map[string][2]any{
		"fixtures": {whole.Fixtures, got.Fixtures}, "episodes": {whole.Episodes, got.Episodes},
		"judgements": {whole.Judgements, got.Judgements}, "exchanges": {whole.Exchanges(), got.Exchanges()},
	} {
		if a, b := toJSON(t, pair[0]), toJSON(t, pair[1]); a != b {
			t.Errorf("%s\n%s\nwant\n%s", what, b, a)
		}
	}
	if _, err := got.Contexts.Get(got.Episodes[0].Context); err != nil {
		t.Error(err)
	}
	if got.Run.Plan.Shard != nil || got.Run.Plan.Fixtures != len(n.set) || got.Run.Plan.Items != len(n.set) {
		t.Errorf("plan %+v", got.Run.Plan)
	}
	if want := testTime.Add(time.Minute).Truncate(time.Second); !run.Started.Equal(want) {
		t.Errorf("started %s, want that of the first shard, %s", run.Started, want)
	}
	// Each shard has paid for the common answer, and each beyond the first for nothing new.
	played := 0
	for i := range of {
		if len(NewShard(i+1, of, n.set).Part(n.set)) > 0 {
			played++
		}
	}
	if again := run.Merged.Again; again.Answers != played-1 || again.Tokens != 12*(played-1) || again.CostUSD != 0.25*float64(played-1) {
		t.Errorf("paid again %+v, with %d shards that played", again, played)
	}
	if len(got.Controls) != played || len(run.Merged.Shards) != of || run.Merged.Shards[4].Index != 5 {
		t.Errorf("%d controls, merged %+v", len(got.Controls), run.Merged)
	}

	// The same shards make the same run again, elsewhere.
	again, err := Merge(filepath.Join(n.root, "again"), n.dirs())
	if err != nil || again.ID != run.ID {
		t.Errorf("run %s, then %s: %v", run.ID, again.ID, err)
	}
	left, err := filepath.Glob(filepath.Join(n.root, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// change rewrites the run of a shard.
func change(t *testing.T, dir string, how func(*Run)) {
	t.Helper()
	run, err := ReadRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	how(run)
	if err := WriteJSON(filepath.Join(dir, RunFile), run); err != nil {
		t.Fatal(err)
	}
}

func TestMergeRefusesWhatIsNotTheShardsOfOneRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*testing.T, *shardedNight) []string // the runs to merge
		want  []string
		is    error
	}{
		{"a shard left out", func(_ *testing.T, n *shardedNight) []string { return []string{n.dir(1), n.dir(3)} },
			[]string{"shard 2 of 3 is missing, with "}, ErrShardsMissing},
		{"two shards left out", func(_ *testing.T, n *shardedNight) []string { return []string{n.dir(2)} },
			[]string{"shard 1 of 3 is missing", "shard 3 of 3 is missing"}, ErrShardsMissing},
		{"one twice", func(_ *testing.T, n *shardedNight) []string { return append(n.dirs(), n.dir(2)) },
			[]string{"shard 2 of 3 stands twice"}, ErrNoShards},
		{"none", func(*testing.T, *shardedNight) []string { return nil }, []string{"there are none"}, ErrNoShards},
		{"a whole run", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(2), func(r *Run) { r.Plan.Shard = nil })
			return n.dirs()
		}, []string{"is a run of the whole set", "--shard I/N"}, ErrNoShards},
		{"another model", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(2), func(r *Run) { r.Plan.Lineage.AgentModel = "n" })
			return n.dirs()
		}, []string{"agent model m there, n now"}, ErrNoShards},
		{"another split", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(2), func(r *Run) { r.Plan.Shard.Of = 4 })
			return n.dirs()
		}, []string{"3 shards there, 4 here"}, ErrNoShards},
		{"another set", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(3), func(r *Run) { r.Plan.Shard.Set[4].Fixture = "ff" })
			return n.dirs()
		}, []string{"fixture f04 ", "f04 (ff) here"}, ErrNoShards},
		{"another quarantine", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(3), func(r *Run) { r.Plan.Quarantined = []string{"x"} })
			return n.dirs()
		}, []string{"in quarantine"}, ErrNoShards},
		{"a shard that cannot be", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(1), func(r *Run) { r.Plan.Shard.Index, r.Plan.Shard.Of = 7, 3 })
			return n.dirs()
		}, []string{"shard 7 of 3"}, ErrNoShards},
		{"a shard of too many", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(1), func(r *Run) { r.Plan.Shard.Of = 1 << 40 })
			return n.dirs()
		}, []string{"which there can't be"}, ErrNoShards},
		{"a damaged list", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(1), func(r *Run) { r.Plan.Shard.Set[0].Shard = 9 })
			return n.dirs()
		}, []string{"damaged at fixture f00"}, ErrNoShards},
		{"stopped while judging", func(t *testing.T, n *shardedNight) []string {
			change(t, n.dir(3), func(r *Run) { r.Ended = nil })
			return n.dirs()
		}, []string{"shard 3 of 3", "has not come to its end", "the same --out"}, ErrShardsMissing},
		{"an episode short", func(t *testing.T, n *shardedNight) []string {
			path := filepath.Join(n.dir(1), EpisodesFile)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(data), "\n")
			if err := os.WriteFile(path, []byte(rest), 0o600); err != nil {
				t.Fatal(err)
			}
			return n.dirs()
		}, []string{"shard 1 of 3", "lacks 1 episode: f", "/reference/0", "the same --out"}, ErrShardsMissing},
		{"no fixtures and no arms", func(t *testing.T, n *shardedNight) []string {
			for _, dir := range n.dirs() {
				change(t, dir, func(r *Run) { r.Plan.Arms = nil })
				if err := os.WriteFile(filepath.Join(dir, FixturesFile), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return n.dirs()
		}, []string{"all of f"}, ErrShardsMissing},
		{"no run", func(_ *testing.T, n *shardedNight) []string { return append(n.dirs(), n.root) }, []string{"reading the shard"}, os.ErrNotExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := playShards(t, 3)
			out := filepath.Join(n.root, "night")
			_, err := Merge(out, tt.spoil(t, n))
			if !errors.Is(err, tt.is) {
				t.Fatalf("error %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q", err, want)
				}
			}
			if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the run directory is there: %v", err)
			}
		})
	}
}

// TestMergeNamesTheFixturesThatAreMissing names all of a missing shard's, and no others.
func TestMergeNamesTheFixturesThatAreMissing(t *testing.T) {
	n := playShards(t, 3)
	_, err := Merge(filepath.Join(n.root, "night"), []string{n.dir(1), n.dir(3)})
	part := NewShard(2, 3, n.set).Part(n.set)
	for _, f := range n.set {
		if named := strings.Contains(err.Error(), f.ConversationID); named != slices.Contains(part, f) {
			t.Errorf("%s named: %t: %v", f.ConversationID, named, err)
		}
	}
}

func TestMergeOverwritesNothing(t *testing.T) {
	n := playShards(t, 2)
	out := filepath.Join(n.root, "night")
	if err := os.MkdirAll(out, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(out, n.dirs()); err != nil { // an empty folder is as good as none
		t.Fatal(err)
	}
	if _, err := Merge(out, n.dirs()); err == nil || !strings.Contains(err.Error(), "is not empty; choose another --out") {
		t.Errorf("error %v", err)
	}
}

// TestAMergedRunKeepsWhatWasDamagedAndCutShort: neither is hidden by putting runs together.
func TestAMergedRunKeepsWhatWasDamagedAndCutShort(t *testing.T) {
	n := playShards(t, 2)
	file, err := os.OpenFile(filepath.Join(n.dir(1), EpisodesFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("{}\n")
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	part := NewShard(2, 2, n.set).Part(n.set)
	line, err := SealLine(&Episode{Key: Key{Fixture: part[0].Hash, Arm: "reference"}, Status: Faulted, Reason: "the provider is away"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(n.dir(2), EpisodesFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []byte
	for l := range strings.Lines(string(data)) {
		var e Episode
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatal(err)
		}
		if e.Fixture != part[0].Hash || e.Arm != "reference" {
			kept = append(kept, l...)
		}
	}
	if err := os.WriteFile(path, append(kept, line...), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(n.root, "night")
	run, err := Merge(out, n.dirs())
	if err != nil {
		t.Fatal(err)
	}
	if first, second := run.Merged.Shards[0], run.Merged.Shards[1]; first.Damaged != 1 || second.Damaged != 0 {
		t.Errorf("damaged lines: %d and %d, want 1 and 0", first.Damaged, second.Damaged)
	}
	record, err := ReadRecord(out)
	if err != nil {
		t.Fatal(err)
	}
	if e := record.Episode(Key{Fixture: part[0].Hash, Arm: "reference"}); record.Damaged != 1 || e == nil || e.Status != Faulted {
		t.Errorf("%d damaged, episode %+v", record.Damaged, e)
	}
}
