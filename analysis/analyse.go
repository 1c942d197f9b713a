package analysis

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Night is a run with all that was found in it.
type Night struct {
	Record *replay.Record
	Report *Report
	// Pairs are the pairs of the main comparison, Queue the discordant ones.
	Pairs []pairing.Pair
	Queue []pairing.Entry

	gates gateInput
}

// Options change how a run is looked at. The zero value takes it as it was planned.
type Options struct {
	// Gates are floors and limits by name, over those of the run.
	Gates map[string]float64
	// Deterministic gates on verbatim survival and on the coverage of words alone.
	Deterministic bool
}

// Load reads the run in dir and finds its verdict.
func Load(dir string) (*Night, error) { return LoadWith(dir, Options{}) }

// LoadWith is Load under options.
func LoadWith(dir string, options Options) (*Night, error) {
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	return AnalyseWith(record, options)
}

// Analyse finds the verdict of a recorded run.
func Analyse(record *replay.Record) (*Night, error) { return AnalyseWith(record, Options{}) }

// AnalyseWith is Analyse under options.
func AnalyseWith(record *replay.Record, options Options) (*Night, error) {
	plan := record.Run.Plan
	settings := DefaultSettings()
	if err := json.Unmarshal(plan.Analysis, &settings); err != nil {
		return nil, fmt.Errorf("run %s: its analysis settings: %w", record.Run.ID, err)
	}
	for _, name := range slices.Sorted(maps.Keys(options.Gates)) {
		if err := settings.SetGate(name, options.Gates[name]); err != nil {
			return nil, err
		}
	}
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	a := analyser{record: record, settings: settings, deterministic: options.Deterministic}
	if err := a.find(); err != nil {
		return nil, fmt.Errorf("run %s: %w", record.Run.ID, err)
	}
	return &Night{Record: record, Report: &a.report, Pairs: a.main, Queue: a.queue, gates: a.gates}, nil
}

// The roles of arms.
const (
	RoleReference = "reference"
	RoleControl   = "control"
	RoleIncumbent = "incumbent"
	RoleCandidate = "candidate"
	RoleA         = "a"
	RoleB         = "b"
)

type analyser struct {
	record   *replay.Record
	settings Settings
	// deterministic looks at no judge.
	deterministic bool
	lens          lens
	report        Report
	gates         gateInput
	main          []pairing.Pair
	again         []pairing.Pair // of further replicates, in the comparison last made
	queue         []pairing.Entry
	notes         []string
}

func (a *analyser) find() error {
	r, plan := &a.report, a.record.Run.Plan
	*r = Report{
		Version: ReportVersion, Run: a.record.Run.ID, Command: plan.Command, Lineage: plan.Lineage, Arms: plan.Arms,
		Set: SetCounts{
			Name: plan.Lineage.SetName, Version: plan.Lineage.SetVersion, Hash: plan.Lineage.SetHash,
			Fixtures: plan.Fixtures, Items: plan.Items, Decisions: plan.Decisions,
		},
		Settings: a.settings, Usage: usage(a.record), Compactions: map[string]CompactionCounts{},
		TaskSuccess: map[string]Share{}, Disagreements: []Disagreement{}, NotPaired: []NotPaired{},
	}
	r.Judge = measureJudge(a.record, a.settings)
	a.lens = lens{record: a.record, trusted: r.Judge.Trusted, deterministic: a.deterministic}
	in := gateInput{record: a.record, settings: a.settings, report: r, blind: a.deterministic || r.Judge.Name == replay.CoverageJudge}
	var err error
	if plan.Command == "compare" {
		err = a.compare(&in)
	} else {
		err = a.nightly(&in)
	}
	if err != nil {
		return err
	}
	a.describe()
	if err := a.items(&in); err != nil {
		return err
	}
	r.PromptTokens = promptTokens(a.record, in.candidate)
	for _, arm := range plan.Arms {
		if arm.Kind == replay.CompactorArm {
			r.Compactions[arm.Name] = countCompactions(a.record, arm.Name)
		}
		r.TaskSuccess[arm.Name] = a.success(arm.Name)
	}
	r.Control = a.control()
	r.Gates = in.gates()
	a.gates = in
	a.verdict()
	a.note()
	r.Notes = append([]string{}, a.notes...)
	if !a.deterministic {
		r.Rubric = newRubric(a.record, in.incumbent, in.candidate)
	}
	return nil
}

// items fills in what became of the items.
func (a *analyser) items(in *gateInput) (err error) {
	r := &a.report
	in.now = a.lens.decisions(in.candidate)
	r.Items = countItems(in.now)
	r.Contradictions = contradictions(r.Items)
	r.Pins, r.Voice = pins(in.now), voices(in.now)
	r.Metrics = metrics(a.record, in.candidate, in.now)
	r.Retention = map[string]Retention{in.candidate: retention(in.now)}
	if in.incumbent == "" {
		return nil
	}
	in.old = a.lens.decisions(in.incumbent)
	r.Retention[in.incumbent] = retention(in.old)
	if part := r.Incumbent; part != nil {
		part.Items = countItems(in.old)
		part.Contradictions = contradictions(part.Items)
	}
	r.Moved, err = moved(in.old, in.now)
	return err
}

func (a *analyser) arm(role string) string {
	if arm := a.record.Arm(role); arm != nil {
		return arm.Name
	}
	return ""
}

func (a *analyser) match(first, second string) (*pairing.Matching, error) {
	m := pairing.Match(a.record, first, second)
	for _, key := range m.Unmatched {
		if key.Replicate > 0 {
			continue // the other arm was not played again
		}
		a.notes = append(a.notes, fmt.Sprintf("episode %s has no partner: it was never played, or the run was stopped", key))
	}
	if len(m.Duplicates) > 0 {
		return nil, fmt.Errorf("episode %s stands twice in the journal", m.Duplicates[0])
	}
	return &m, nil
}

func (a *analyser) comparison(first, second string) (Comparison, []pairing.Pair, error) {
	m, err := a.match(first, second)
	if err != nil {
		return Comparison{}, nil, err
	}
	pairs := m.Pairs
	a.again = m.Again
	c := Comparison{Pairs: newPairTable(pairs), Discordant: map[string]pairing.Cell{}}
	for i := range pairs {
		if pairs[i].Cell.Discordant() {
			c.Discordant[pairs[i].ID] = pairs[i].Cell
		}
	}
	c.Test, err = NewTest(pairs, a.settings)
	return c, pairs, err
}

// nightly compares reference with candidate, and both with the incumbent.
func (a *analyser) nightly(in *gateInput) error {
	reference, incumbent, candidate := a.arm(RoleReference), a.arm(RoleIncumbent), a.arm(RoleCandidate)
	main, pairs, err := a.comparison(reference, candidate)
	if err != nil {
		return err
	}
	a.setMain(reference, candidate, main, pairs)
	in.candidate, in.incumbent = candidate, incumbent
	in.reference, in.referenceTest = pairs, &a.report.Test
	if incumbent == "" {
		return nil
	}
	part := &IncumbentPart{Name: incumbent, PromptTokens: promptTokens(a.record, incumbent)}
	if part.Reference, in.incumbents, err = a.comparison(reference, incumbent); err != nil {
		return err
	}
	if part.Candidate, in.direct, err = a.comparison(incumbent, candidate); err != nil {
		return err
	}
	in.incumbentTest, in.directTest = &part.Reference.Test, &part.Candidate.Test
	a.report.Incumbent = part
	return nil
}

// compare compares A with B, and each with the reference.
func (a *analyser) compare(in *gateInput) error {
	reference, first, second := a.arm(RoleReference), a.arm(RoleA), a.arm(RoleB)
	main, pairs, err := a.comparison(first, second)
	if err != nil {
		return err
	}
	a.setMain(first, second, main, pairs)
	in.candidate, in.incumbent = second, first
	in.direct, in.directTest = pairs, &a.report.Test
	a.report.AgainstReference = map[string]Comparison{}
	var base, b Comparison
	if base, in.incumbents, err = a.comparison(reference, first); err != nil {
		return err
	}
	a.report.AgainstReference[first], in.incumbentTest = base, &base.Test
	if b, in.reference, err = a.comparison(reference, second); err != nil {
		return err
	}
	a.report.AgainstReference[second] = b
	in.referenceTest = &b.Test
	return nil
}

func (a *analyser) setMain(first, second string, c Comparison, pairs []pairing.Pair) {
	a.report.Baseline, a.report.Candidate = first, second
	a.report.Pairs, a.report.Test = c.Pairs, c.Test
	a.main = pairs
	a.queue = pairing.Queue(a.record, pairs, a.again)
}

func newPairTable(pairs []pairing.Pair) PairTable {
	t := PairTable{Table: pairing.Count(pairs, nil), ByReference: map[pairing.By]pairing.Table{}}
	for _, by := range []pairing.By{pairing.Replayed, pairing.Accepted} {
		t.ByReference[by] = pairing.Count(pairs, func(p *pairing.Pair) bool { return p.By == by })
	}
	return t
}

// describe fills in the disagreements and what was not paired.
func (a *analyser) describe() {
	for _, entry := range a.queue {
		d := Disagreement{ID: entry.ID, Title: entry.Title, Cell: entry.Cell, By: entry.By, Confirmed: entry.Confirmed, Items: []pairing.ItemFate{}, Checks: []string{}}
		if entry.Divergence != nil {
			d.Turn = entry.Divergence.Turn
			d.Baseline = pairing.Describe(entry.Divergence.First)
			d.Candidate = pairing.Describe(entry.Divergence.Second)
		}
		for _, fate := range entry.Items {
			if fate.Lost() || fate.First == replay.Absent || fate.First == replay.Contradicted {
				d.Items = append(d.Items, fate)
			}
		}
		for _, c := range entry.Differ {
			failed := c.Second
			if c.First.Answer == fixtures.Fail {
				failed = c.First
			}
			d.Checks = append(d.Checks, fmt.Sprintf("check %s: %s", c.Check, failed.Evidence))
		}
		a.report.Disagreements = append(a.report.Disagreements, d)
	}
	for _, p := range a.main {
		switch p.Cell {
		case pairing.Unscored, pairing.Void, pairing.LeftOut:
			a.report.NotPaired = append(a.report.NotPaired, NotPaired{p.ID, p.Cell, p.Reason})
		}
	}
}

// success counts the episodes of an arm that passed.
func (a *analyser) success(arm string) Share {
	var share Share
	reference := a.arm(RoleReference)
	for _, e := range a.record.Episodes {
		if e.Arm != arm || e.Replicate > 0 {
			continue
		}
		expected := a.record.Episode(replay.Key{Fixture: e.Fixture, Arm: reference})
		switch pairing.Judge(a.record.Fixture(e.Fixture), e, expected).Answer {
		case fixtures.Pass:
			share.Passed++
			share.Scored++
		case fixtures.Fail:
			share.Scored++
		}
	}
	return share
}

func (a *analyser) control() Control {
	control := a.record.Arm(RoleControl)
	if control == nil {
		return Control{Reason: "not run: the embedded provider always gives the same answer to the same request"}
	}
	pairs := pairing.Match(a.record, a.arm(RoleReference), control.Name).Pairs
	table := pairing.Count(pairs, nil)
	c := Control{Pairs: &table}
	if table.Scored() == 0 {
		c.Reason = "no control pair has an outcome"
		return c
	}
	share := float64(table.Losses+table.Gains) / float64(table.Scored())
	c.Discordant = &share
	return c
}

// verdict draws the conclusion from the gates and from how much has an outcome.
func (a *analyser) verdict() {
	r := &a.report
	var why []string
	r.Verdict = Inconclusive
	for _, g := range r.Gates {
		if g.Status == GateRegressed {
			r.Verdict = Regressed
			why = append(why, g.Name+": "+g.Reason)
		}
	}
	switch {
	case !r.Judge.Trusted && !a.deterministic:
		// A run whose instrument failed is no run, whatever else it saw.
		r.Verdict = Incomplete
		why = append(a.incomplete(), why...)
	case r.Verdict != Regressed:
		if why = a.incomplete(); len(why) > 0 {
			r.Verdict = Incomplete
		}
	}
	if r.Verdict == Inconclusive {
		why = []string{a.unblocked()}
	}
	r.Why = why
}

// unblocked tells clear from inconclusive. Losses that a person has not looked at keep
// a run from being clear, however few they are: the aggregate can't see how bad each is.
func (a *analyser) unblocked() string {
	r := &a.report
	margin := 100 * a.settings.Margin
	switch {
	case !r.Test.NonInferior:
		return fmt.Sprintf("nothing blocks, but %d pairs do not show that %s is worse by less than the margin of %.0f%%", r.Test.Pairs, r.Candidate, margin)
	case r.Pairs.Losses > 0:
		return fmt.Sprintf("nothing blocks and the difference is within the margin of %.0f%%, but %d losses wait in the queue, and no average can tell how bad they are", margin, r.Pairs.Losses)
	}
	r.Verdict = Clear
	return fmt.Sprintf("nothing blocks, nothing is lost, and %s is worse than %s by less than the margin of %.0f%%", r.Candidate, r.Baseline, margin)
}

// incomplete says what went unscored beyond the tolerance.
func (a *analyser) incomplete() []string {
	var why []string
	r := &a.report
	if !r.Judge.Trusted && !a.deterministic {
		why = append(why, "the judge can't be relied on: "+r.Judge.Reason)
	}
	over := func(n, total int, what string) {
		if total > 0 && float64(n) > a.settings.MaxUnscored*float64(total) {
			why = append(why, fmt.Sprintf("%d of %d %s are unscored, more than %.0f%%", n, total, what, 100*a.settings.MaxUnscored))
		}
	}
	missing := a.record.Run.Plan.Fixtures - r.Pairs.Total
	if missing > 0 {
		why = append(why, fmt.Sprintf("%d of %d fixtures were not played to the end", missing, a.record.Run.Plan.Fixtures))
	}
	over(r.Pairs.Unscored+r.Pairs.Void, r.Pairs.Total, "pairs")
	if reason := a.commonReason(); reason != "" && len(why) > 0 {
		why = append(why, "most often because of: "+reason)
	}
	unscored, total := 0, 0
	for _, c := range r.Items {
		unscored += c.Unscored
		total += c.Total
	}
	over(unscored, total, "compaction decisions")
	if r.Pairs.Total > 0 && r.Pairs.Scored() == 0 && len(why) == 0 {
		why = append(why, "no pair has an outcome")
	}
	return why
}

// commonReason is the reason, without the place, that kept most pairs from an outcome.
func (a *analyser) commonReason() string {
	counts := map[string]int{}
	best := ""
	for _, n := range a.report.NotPaired {
		if n.Cell == pairing.LeftOut {
			continue
		}
		reason := n.Reason
		for _, place := range []string{"asking model ", "expected compactions ran: ", "had no recorded result"} {
			if i := strings.Index(reason, place); i >= 0 {
				reason = reason[i:]
			}
		}
		counts[reason]++
		if counts[reason] > counts[best] {
			best = reason
		}
	}
	return best
}

// note adds what a reader must know beside the numbers.
func (a *analyser) note() {
	if prints := fingerprints(a.record); len(prints) > 1 {
		a.notes = append(a.notes, fmt.Sprintf("the provider's fingerprint changed during the run: %d different ones answered", len(prints)))
	}
	if a.record.Damaged > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d journal lines are damaged and were left out", a.record.Damaged))
	}
	missed := 0
	for _, e := range a.record.Episodes {
		for _, s := range e.Steps {
			if s.Source == replay.Miss {
				missed++
			}
		}
	}
	if missed > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d tool calls had no recorded result and got a fixed text", missed))
	}
	if !a.report.Lineage.VocabularyOwn {
		a.notes = append(a.notes, fmt.Sprintf("tokens are counted with the vocabulary %s, which may not be that of %s", a.report.Lineage.Vocabulary, a.report.Lineage.AgentModel))
	}
	if slices.ContainsFunc(a.record.Fixtures, func(f *fixtures.Fixture) bool { return f.Sampling == "adversarial" }) {
		a.notes = append(a.notes, "an adversarial set says what can go wrong, not how often it does in production")
	}
}
