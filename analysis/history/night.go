package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Night is one run among those of its lineage.
type Night struct {
	// Dir is the run directory, as it was found.
	Dir       string           `json:"dir"`
	Run       string           `json:"run"`
	Started   time.Time        `json:"started"`
	Command   string           `json:"command"`
	Verdict   analysis.Verdict `json:"verdict"`
	Baseline  string           `json:"baseline"`
	Candidate string           `json:"candidate"`
	// Digest is that of the candidate's compactor.
	Digest fixtures.Hash `json:"candidate_digest,omitempty"`
	Pairs  int           `json:"pairs"`
	Losses int           `json:"losses"`
	Gains  int           `json:"gains"`
	// NoiseFloor is the share of control pairs in which the reference disagrees with
	// itself, from 0 to 1; null where it is not known, with the reason.
	NoiseFloor  *float64 `json:"noise_floor"`
	NoiseReason string   `json:"noise_reason,omitempty"`
	// Contradictions counts the items that the candidate's contexts contradict.
	Contradictions int             `json:"contradictions"`
	Gates          []analysis.Gate `json:"gates"`
	// CostUSD is what the run paid, null where a price is not known, with the reason.
	CostUSD    *float64 `json:"cost_usd"`
	CostReason string   `json:"cost_reason,omitempty"`
	// Requests counts the answers that the run paid for, Cached those that an earlier run had.
	Requests int `json:"requests"`
	Cached   int `json:"cached"`
	// Quarantined names the fixtures that were kept out, with why.
	Quarantined []string `json:"quarantined"`
	// Disagreements are the discordant pairs of the main comparison.
	Disagreements []Disagreement `json:"disagreements"`
	// New are those whose pair did not disagree so when it last had an outcome in the
	// lineage, Vanished the disagreements of a pair's last outcome that are none any more.
	// A pair that was not played or has no outcome is in neither. Both are null on the
	// first night.
	New      []Disagreement `json:"new"`
	Vanished []Disagreement `json:"vanished"`
	// First are those whose pair had no outcome on any night before.
	First []Disagreement `json:"first_outcome,omitempty"`
	// Unknown are those of the night before whose pairs have no outcome on this one.
	Unknown []Disagreement `json:"unknown"`
	// Changed says in words what the night before of the lineage had otherwise: compactors,
	// the program, the settings of the verdict.
	Changed []string `json:"changed"`
	// Recomputed says that the verdict was found anew, not read from report.json; Why says
	// for what reason.
	Recomputed bool   `json:"recomputed"`
	Why        string `json:"recomputed_because,omitempty"`

	plan replay.Plan
	// without names the pairs that were played and have no outcome.
	without map[string]bool
	// scored names the pairs that have one; nil where everything was played, so that all
	// but those in without have.
	scored map[string]bool
}

// Disagreement is a discordant pair by its name.
type Disagreement struct {
	Pair string       `json:"pair"`
	Cell pairing.Cell `json:"cell"`
}

// reportFile is where a run keeps what was found in it.
const reportFile = "report.json"

// finding is what a history needs of a report.
type finding struct {
	Version int `json:"version"`
	// Run is there in reports of before: those of now are the same for runs of equal plans
	// and equal results, and are told apart by lineage and arms.
	Run           string               `json:"run"`
	Command       string               `json:"command"`
	Verdict       analysis.Verdict     `json:"verdict"`
	Unfinished    *analysis.Unfinished `json:"unfinished"`
	Lineage       replay.Lineage       `json:"lineage"`
	Arms          []replay.ArmInfo     `json:"arms"`
	Baseline      string               `json:"baseline"`
	Candidate     string               `json:"candidate"`
	Pairs         pairing.Table        `json:"pairs"`
	Disagreements []struct {
		ID   string       `json:"id"`
		Cell pairing.Cell `json:"cell"`
	} `json:"disagreements"`
	NotPaired []struct {
		ID string `json:"id"`
	} `json:"not_paired"`
	Contradictions int             `json:"contradictions"`
	Gates          []analysis.Gate `json:"gates"`
	Control        struct {
		Discordant *float64 `json:"discordant_share"`
		Reason     string   `json:"reason"`
	} `json:"control"`
	Stopping *analysis.Stopping `json:"stopping"`
	Usage    analysis.Usage     `json:"usage"`
	// scored is known of what was found anew.
	scored map[string]bool
}

// ReadNight reads one run directory. It takes the findings of report.json where that is
// of this run, of its lineage as it is now and of its end, and else finds them anew from
// what was recorded; with recompute it always does.
func ReadNight(dir string, recompute bool) (*Night, error) {
	run, err := replay.ReadRun(dir)
	if err != nil {
		return nil, err
	}
	if run.Plan.Command == replay.MutateCommand {
		return nil, fmt.Errorf("run %s broke a compactor on purpose, and has no verdict", run.ID)
	}
	n := &Night{Dir: dir, Run: run.ID, Started: run.Started, plan: run.Plan, Quarantined: run.Plan.Quarantined}
	why := "it was asked for"
	var found *finding
	if !recompute {
		found, why = readFinding(dir, run)
	}
	if found == nil {
		n.Recomputed, n.Why = true, why
		if found, err = recomputed(dir); err != nil {
			return nil, err
		}
	}
	n.take(found)
	return n, nil
}

// readFinding reads report.json, or says why it will not do.
func readFinding(dir string, run *replay.Run) (*finding, string) {
	data, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err != nil {
		return nil, "there is no " + reportFile
	}
	var f finding
	switch err := json.Unmarshal(data, &f); {
	case err != nil:
		return nil, reportFile + " can't be read"
	case f.Version != analysis.ReportVersion:
		return nil, fmt.Sprintf("%s is of version %d", reportFile, f.Version)
	case f.Run != "" && f.Run != run.ID, !reflect.DeepEqual(f.Arms, run.Plan.Arms):
		return nil, reportFile + " is of another run"
	case !reflect.DeepEqual(f.Lineage, run.Plan.Lineage):
		return nil, reportFile + " is of another lineage: the run was judged again since"
	case f.Unfinished != nil:
		return nil, reportFile + " was written before the run was at its end"
	case f.Stopping != nil && f.Stopping.Certain && f.Stopping.Fixtures < f.Stopping.Of:
		return nil, "the run stopped early, and " + reportFile + " does not name what was not played"
	}
	return &f, ""
}

// recomputed finds the verdict of a run anew.
func recomputed(dir string) (*finding, error) {
	night, err := analysis.Load(dir)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(night.Report)
	if err != nil {
		return nil, fmt.Errorf("finding the verdict of %s: %w", dir, err)
	}
	var f finding
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("finding the verdict of %s: %w", dir, err)
	}
	f.scored = night.WithOutcome()
	return &f, nil
}

func (n *Night) take(f *finding) {
	n.Command, n.Verdict, n.Baseline, n.Candidate = f.Command, f.Verdict, f.Baseline, f.Candidate
	n.Pairs, n.Losses, n.Gains = f.Pairs.Total, f.Pairs.Losses, f.Pairs.Gains
	n.NoiseFloor, n.NoiseReason = f.Control.Discordant, f.Control.Reason
	n.Contradictions, n.Gates = f.Contradictions, f.Gates
	n.CostUSD, n.CostReason = f.Usage.CostUSD, f.Usage.CostReason
	n.Requests, n.Cached = f.Usage.Requests, f.Usage.Cached
	for _, arm := range n.plan.Arms {
		if arm.Name == n.Candidate {
			n.Digest = arm.Digest
		}
	}
	n.Disagreements = []Disagreement{}
	for _, d := range f.Disagreements {
		n.Disagreements = append(n.Disagreements, Disagreement{d.ID, d.Cell})
	}
	n.scored, n.without = f.scored, map[string]bool{}
	for _, p := range f.NotPaired {
		n.without[p.ID] = true
	}
	if n.Gates == nil {
		n.Gates = []analysis.Gate{}
	}
	if n.Quarantined == nil {
		n.Quarantined = []string{}
	}
	n.Unknown, n.Changed = []Disagreement{}, []string{}
}

// hasOutcome says whether a pair came to an outcome on the night.
func (n *Night) hasOutcome(pair string) bool {
	if n.scored != nil {
		return n.scored[pair]
	}
	return !n.without[pair] && !n.keptOut(pair)
}

// Gate is the row of that name, or nil.
func (n *Night) Gate(name string) *analysis.Gate {
	for i := range n.Gates {
		if n.Gates[i].Name == name {
			return &n.Gates[i]
		}
	}
	return nil
}
