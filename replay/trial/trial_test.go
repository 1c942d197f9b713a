package trial_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/compact/compacttest"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/offline"
	"github.com/doubletake-dev/doubletake/replay/trial"
)

func shipped(t *testing.T) *fixtures.Set {
	t.Helper()
	files, err := adversarial.Files()
	if err != nil {
		t.Fatal(err)
	}
	set, err := fixtures.LoadSet(files, "adversarial")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// The compactor of the example is a sound one, whatever it loses.
func TestCompactorOfTheExample(t *testing.T) {
	compacttest.TestCompactor(t, func(*testing.T) replay.Compactor { return words{newest: 4} })
}

// A compactor that changes nothing can't be told from the reference, and the run that the
// trial left has a verdict.
func TestNothingChangedNothingLost(t *testing.T) {
	played := trial.Trial{Set: shipped(t), Compactor: compact.None{}, Dir: t.TempDir(), Fixtures: []string{"quiet-afternoon", "wrong-database"}}
	record, err := played.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	matching := pairing.Match(record, trial.Reference, trial.Candidate)
	if len(matching.Pairs) != 2 || len(matching.Unmatched) > 0 {
		t.Fatalf("%d pairs, unmatched %v", len(matching.Pairs), matching.Unmatched)
	}
	for _, p := range matching.Pairs {
		if p.Cell == pairing.Loss || p.Cell == pairing.Gain {
			t.Errorf("%s: %s under a compactor that changes nothing", p.ConversationID, p.Cell)
		}
	}
	night, err := analysis.Analyse(record)
	if err != nil {
		t.Fatal(err)
	}
	if night.Report.Pairs.Losses != 0 || night.Report.Control.Pairs != nil {
		t.Errorf("losses %d, control %v", night.Report.Pairs.Losses, night.Report.Control.Pairs)
	}

	// The same trial in the same folder has nothing left to play.
	again, err := played.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if again.Run.ID != record.Run.ID || len(again.Episodes) != len(record.Episodes) {
		t.Errorf("run %s with %d episodes, then %s with %d", record.Run.ID, len(record.Episodes), again.Run.ID, len(again.Episodes))
	}
}

// A model of the caller's is asked, and the reference is then played against itself.
func TestModelOfTheCaller(t *testing.T) {
	set := shipped(t)
	library, err := offline.LoadLibrary(set.Files())
	if err != nil {
		t.Fatal(err)
	}
	server, err := offline.Listen(t.Context(), "", offline.NewHandler(library))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	client, err := model.NewClient(model.Endpoint{BaseURL: server.URL()})
	if err != nil {
		t.Fatal(err)
	}
	record, err := trial.Trial{
		Set: set, Compactor: words{newest: 12}, Dir: t.TempDir(), Fixtures: []string{"wrong-database"},
		Model: client, ModelName: "small", Endpoint: "http://model.internal/v1",
	}.Play(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, e := range record.Episodes {
		arms = append(arms, e.Key.Arm)
	}
	if want := []string{trial.Reference, trial.Control, trial.Candidate}; !slices.Equal(arms, want) {
		t.Errorf("episodes under %v: want %v", arms, want)
	}
	if l := record.Run.Plan.Lineage; l.AgentModel != "small" || l.JudgeModel != "small" || l.Endpoint != "http://model.internal/v1" {
		t.Errorf("lineage %+v", l)
	}
}

func TestRefusedTrials(t *testing.T) {
	set := shipped(t)
	runs := *set.Fixtures[0]
	runs.Tools = &fixtures.ToolSettings{Simulator: &fixtures.ToolSimulator{Exec: []string{"sh", "answer.sh"}}}
	kept := *set.Fixtures[0]
	kept.Quarantine = &fixtures.Quarantine{Reason: "flaky", Until: "9999-12-31"}
	for name, c := range map[string]struct {
		trial trial.Trial
		want  string
	}{
		"no set":            {trial.Trial{Compactor: compact.None{}}, "has no Set"},
		"no compactor":      {trial.Trial{Set: set}, "has no Compactor"},
		"unknown fixture":   {trial.Trial{Set: set, Compactor: compact.None{}, Fixtures: []string{"nosuch"}}, "nosuch"},
		"model has no name": {trial.Trial{Set: set, Compactor: compact.None{}, Model: silent{}}, "ModelName"},
		"runs programs":     {trial.Trial{Set: &fixtures.Set{Fixtures: []*fixtures.Fixture{&runs}}, Compactor: compact.None{}}, "--allow-exec"},
		"all in quarantine": {trial.Trial{Set: &fixtures.Set{Name: "mine", Fixtures: []*fixtures.Fixture{&kept}}, Compactor: compact.None{}}, "no fixture of mine is left"},
		"no scripts":        {trial.Trial{Set: emptySet(t), Compactor: compact.None{}}, "no fixture"},
	} {
		t.Run(name, func(t *testing.T) {
			c.trial.Dir = t.TempDir()
			if _, err := c.trial.Play(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v: want one with %q", err, c.want)
			}
		})
	}
}

func emptySet(t *testing.T) *fixtures.Set {
	t.Helper()
	set, err := fixtures.LoadUnmanifested(fstest.MapFS{}, "empty")
	if err != nil {
		return &fixtures.Set{Name: "empty"}
	}
	return set
}

// silent is a model that is never asked.
type silent struct{}

func (silent) Complete(context.Context, *replay.Request) (*replay.Reply, error) {
	panic("asked")
}
