package replay

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

var testTime = time.Date(2026, 3, 20, 1, 2, 3, 4, time.UTC)

func TestARunGoesOnUnderTheSamePlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "one")
	set := []*fixtures.Fixture{fixtureOf("a", 2), fixtureOf("b", 2)}
	arms := []Arm{reference(), compacting(keepLast)}
	folder := openFolder(t, dir, set, arms)
	if folder.Resumed || !strings.HasPrefix(folder.Run.ID, "20260320T010203Z-") || len(folder.Run.ID) != 25 || folder.Run.Version != RunVersion {
		t.Errorf("run %+v", folder.Run)
	}
	if err := folder.Episodes.Append(&Episode{Key: Key{Fixture: set[0].Hash, Arm: "reference"}, Status: Played}); err != nil {
		t.Fatal(err)
	}
	first := folder.Run
	mustClose(t, folder)

	folder, err := OpenFolder(dir, planOf(set, arms), set, testTime.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, folder)
	if !folder.Resumed || folder.Run.ID != first.ID || !folder.Run.Started.Equal(first.Started) {
		t.Errorf("resumed %v as %+v", folder.Resumed, folder.Run)
	}
	record, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(record.Episodes) != 1 || len(record.Fixtures) != 2 || record.Fixtures[1].Hash != set[1].Hash || record.Damaged != 0 {
		t.Errorf("record %+v", record)
	}
}

func TestARunOfAnotherPlanIsRefusedWithTheDifference(t *testing.T) {
	set := []*fixtures.Fixture{fixtureOf("a", 2)}
	arms := []Arm{reference()}
	for want, change := range map[string]func(*Plan){
		"set 0123456789abcdef there, ff now":  func(p *Plan) { p.Lineage.SetHash = "ff" },
		"agent model m there, n now":          func(p *Plan) { p.Lineage.AgentModel = "n" },
		"judge model  there, j now":           func(p *Plan) { p.Lineage.JudgeModel = "j" },
		"endpoint  there, http://x now":       func(p *Plan) { p.Lineage.Endpoint = "http://x" },
		"judge endpoint  there, http://x now": func(p *Plan) { p.Lineage.JudgeEndpoint = "http://x" },
		"judge prompt  there, abc now":        func(p *Plan) { p.Lineage.JudgePrompt = "abc" },
		"made by test, this is other":         func(p *Plan) { p.Lineage.Program = "other" },
		"compactors [] there, [x] now":        func(p *Plan) { p.Lineage.CompactorNames = []string{"x"} },
		"lineages differ":                     func(p *Plan) { p.Lineage.Vocabulary = "other" },
		"1 arms there, 2 now":                 func(p *Plan) { p.Arms = append(p.Arms, ArmInfo{Name: "x"}) },
		"seed 7 there, 8 now":                 func(p *Plan) { p.Settings.Seed = 8 },
		"window 100000 there, 5 now":          func(p *Plan) { p.Settings.Window = 5 },
		"trigger 0.8 there, 0.5 now":          func(p *Plan) { p.Settings.Trigger = 0.5 },
		"step limit 10 there, 11 now":         func(p *Plan) { p.Settings.StepLimit = 11 },
		"settings differ":                     func(p *Plan) { p.Settings.Model = "n" },
		"analysis differ":                     func(p *Plan) { p.Analysis = json.RawMessage(`{"a":"<x>","b":2}`) },
		"command differ":                      func(p *Plan) { p.Command = "compare" },
	} {
		t.Run(want, func(t *testing.T) {
			dir := t.TempDir()
			mustClose(t, openFolder(t, dir, set, arms))
			plan := planOf(set, arms)
			change(&plan)
			_, err := OpenFolder(dir, plan, set, testTime)
			if !errors.Is(err, ErrOtherPlan) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "choose another --out") {
				t.Errorf("error %v", err)
			}
			mustClose(t, openFolder(t, dir, set, arms)) // and the lock is free again
		})
	}
	t.Run("more of the same set", func(t *testing.T) {
		dir := t.TempDir()
		mustClose(t, openFolder(t, dir, set, arms))
		more := []*fixtures.Fixture{set[0], fixtureOf("b", 2)}
		if _, err := OpenFolder(dir, planOf(more, arms), more, testTime); !errors.Is(err, ErrOtherPlan) || !strings.Contains(err.Error(), "1 fixtures there, 2 now") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("as many others of the same set", func(t *testing.T) {
		dir := t.TempDir()
		mustClose(t, openFolder(t, dir, set, arms))
		other := []*fixtures.Fixture{fixtureOf("b", 2)}
		if _, err := OpenFolder(dir, planOf(other, arms), other, testTime); !errors.Is(err, ErrOtherPlan) || !strings.Contains(err.Error(), "fixture a") || !strings.Contains(err.Error(), "there, b") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("concurrency is no difference", func(t *testing.T) {
		dir := t.TempDir()
		mustClose(t, openFolder(t, dir, set, arms))
		plan := planOf(set, arms)
		plan.Settings.Concurrency = 99
		folder, err := OpenFolder(dir, plan, set, testTime)
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, folder)
	})
}

func TestARunDirectoryHasOneOwner(t *testing.T) {
	dir := t.TempDir()
	set, arms := []*fixtures.Fixture{fixtureOf("a", 2)}, []Arm{reference()}
	folder := openFolder(t, dir, set, arms)
	if _, err := OpenFolder(dir, planOf(set, arms), set, testTime); err == nil || !strings.Contains(err.Error(), "in use by another doubletake") {
		t.Errorf("a second owner: %v", err)
	}
	if _, err := ReadRecord(dir); err != nil {
		t.Errorf("reading needs no lock: %v", err)
	}
	mustClose(t, folder)
	mustClose(t, openFolder(t, dir, set, arms))
}

// A process killed before run.json stood there left nothing that counts.
func TestAHalfMadeRunIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	extend(t, filepath.Join(dir, FixturesFile), "{\"hash\":\"half")
	set := []*fixtures.Fixture{fixtureOf("a", 2)}
	folder := openFolder(t, dir, set, []Arm{reference()})
	defer mustClose(t, folder)
	if record, err := ReadRecord(dir); folder.Resumed || err != nil || len(record.Fixtures) != 1 {
		t.Errorf("resumed %v, %+v, %v", folder.Resumed, record, err)
	}
}

func TestRunsThatCannotBeRead(t *testing.T) {
	set, arms := []*fixtures.Fixture{fixtureOf("a", 2)}, []Arm{reference()}
	for name, c := range map[string]struct{ file, text, want string }{
		"no JSON":            {RunFile, "{", "unexpected end"},
		"a newer version":    {RunFile, `{"version":2}`, "version 2; this program reads 1 to 1"},
		"no version":         {RunFile, `{}`, "version 0"},
		"a broken fixture":   {FixturesFile, "{}\n", "no fixture in this line"},
		"a fixture cut off":  {FixturesFile, "{\"hash\":\"a\"", "line 1"},
		"episodes elsewhere": {"", "", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustClose(t, openFolder(t, dir, set, arms))
			if c.file == "" {
				dir = filepath.Join(dir, "none")
			} else if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := ReadRecord(dir)
			if err == nil || !(strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), FixturesFile+":1")) {
				t.Errorf("error %v", err)
			}
			if c.file == "" {
				return
			}
			if folder, err := OpenFolder(dir, planOf(set, arms), set, testTime); err == nil {
				t.Error("and yet it opens")
				mustClose(t, folder)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	extend(t, file, "")
	if _, err := OpenFolder(file, planOf(set, arms), set, testTime); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file as a run directory: %v", err)
	}
}

func TestLatestEpisodes(t *testing.T) {
	key := Key{Fixture: "f", Arm: "a"}
	other := Key{Fixture: "f", Arm: "a", Replicate: 1}
	e := func(k Key, status EpisodeStatus, reason string) *Episode {
		return &Episode{Key: k, Status: status, Reason: reason}
	}
	latest := LatestEpisodes([]*Episode{
		e(key, Faulted, "1"), e(other, Faulted, "2"), e(key, Faulted, "3"), e(key, Void, "4"), e(key, Played, "5"), e(other, Faulted, "6"),
	})
	if len(latest) != 2 || latest[key].Reason != "4" || latest[other].Reason != "6" {
		t.Errorf("%+v, %+v", latest[key], latest[other])
	}
}

func TestLatestJudgements(t *testing.T) {
	j := func(item string, verdict Verdict, reason string) *Judgement {
		return &Judgement{Item: item, Verdict: verdict, Reason: reason}
	}
	list := LatestJudgements([]*Judgement{
		j("a", Unjudged, "1"), j("b", Absent, "2"), j("a", Unjudged, "3"), j("b", Supported, "4"), j("a", Verbatim, "5"), j("c", Unjudged, "6"), j("a", Unjudged, "7"),
	})
	var got []string
	for _, j := range list {
		got = append(got, j.Item+j.Reason)
	}
	if !reflect.DeepEqual(got, []string{"a5", "b2", "c6"}) {
		t.Errorf("kept %v", got)
	}
}

func TestARecordIsInTheOrderOfThePlan(t *testing.T) {
	dir := t.TempDir()
	set := []*fixtures.Fixture{fixtureOf("b", 2), fixtureOf("a", 2)}
	folder := openFolder(t, dir, set, []Arm{reference(), compacting(keepLast)})
	key := func(f, arm, replicate int) Key {
		return Key{set[f].Hash, []string{"reference", "candidate"}[arm], replicate}
	}
	episodes := []*Episode{}
	for _, k := range []Key{key(1, 1, 0), key(0, 1, 2), key(1, 0, 0), key(0, 1, 0), key(0, 0, 1), {"unknown", "reference", 0}, {set[0].Hash, "unknown", 0}} {
		episodes = append(episodes, &Episode{Key: k, Status: Played})
	}
	episodes[3].Status = Faulted
	episodes[3].Compactions = []CompactionRecord{{Index: 0, Status: Compacted, After: "0000000000000001"}}
	again := *episodes[3]
	again.Status = Played
	again.Compactions = []CompactionRecord{{Index: 0, Status: Compacted, After: "0000000000000002"}}
	if err := errors.Join(folder.Episodes.Append(episodes...), folder.Episodes.Append(&again)); err != nil {
		t.Fatal(err)
	}
	stale := &Judgement{Key: again.Key, Item: "c1", Verdict: Contradicted, Context: "0000000000000001"}
	fresh := &Judgement{Key: again.Key, Item: "c1", Verdict: Supported, Context: "0000000000000002"}
	if err := folder.Judgements.Append(stale, fresh); err != nil {
		t.Fatal(err)
	}
	mustClose(t, folder)
	extend(t, filepath.Join(dir, EpisodesFile), "damage\n")
	extend(t, filepath.Join(dir, JudgementsFile), "damage\nand more\n")
	record, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	var keys []Key
	for _, e := range record.Episodes {
		keys = append(keys, e.Key)
	}
	want := []Key{key(0, 0, 1), key(0, 1, 0), key(0, 1, 2), key(1, 0, 0), key(1, 1, 0)}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("episodes %v\nwant %v", keys, want)
	}
	if record.Damaged != 3 {
		t.Errorf("%d damaged lines", record.Damaged)
	}
	// The judgement of a context that was played again does not count.
	if len(record.Judgements) != 1 || record.Judgements[0].Verdict != Supported {
		t.Errorf("judgements %+v", record.Judgements)
	}
	if e := record.Episode(again.Key); e == nil || e.Status != Played {
		t.Errorf("episode %+v", e)
	}
	if record.Episode(Key{Fixture: "x"}) != nil || record.Fixture("x") != nil || record.Arm("x") != nil {
		t.Error("found what is not there")
	}
	if record.Fixture(set[1].Hash).ConversationID != "a" || record.Arm("candidate").Kind != CompactorArm {
		t.Error("not found what is there")
	}
}
