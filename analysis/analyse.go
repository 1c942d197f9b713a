package analysis

import (
	"encoding/json"
	"errors"
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
	again []pairing.Pair // of further replicates, planned or not
}

// Options change how a run is looked at. The zero value takes it as it was planned.
type Options struct {
	// Gates are floors and limits by name, over those of the run.
	Gates map[string]float64
	// Deterministic gates on verbatim survival and on the coverage of words alone.
	Deterministic bool
	// Verdicts are what people ruled on the run's queue.
	Verdicts []pairing.Verdict
}

// Load reads the run in dir and finds its verdict.
func Load(dir string) (*Night, error) { return LoadWith(dir, Options{}) }

// LoadWith is Load under options.
func LoadWith(dir string, options Options) (*Night, error) {
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	if options.Verdicts == nil {
		if options.Verdicts, err = pairing.ReadVerdicts(dir); err != nil {
			return nil, err
		}
		if err := pairing.OfRun(options.Verdicts, record.Run.ID); err != nil {
			return nil, fmt.Errorf("the verdicts in %s: %w", dir, err)
		}
	}
	return AnalyseWith(record, options)
}

// ErrNoNight says of a run that nothing is compared in it.
var ErrNoNight = errors.New("broke a compactor on purpose, and has no verdict")

// Analyse finds the verdict of a recorded run.
func Analyse(record *replay.Record) (*Night, error) { return AnalyseWith(record, Options{}) }

// AnalyseWith is Analyse under options.
func AnalyseWith(record *replay.Record, options Options) (*Night, error) {
	if record.Run.Plan.Command == replay.MutateCommand {
		return nil, fmt.Errorf("run %s %w: print it with doubletake fixtures mutate --report DIR", record.Run.ID, ErrNoNight)
	}
	a, err := newAnalyser(record, options)
	if err != nil {
		return nil, err
	}
	if err := a.find(); err != nil {
		return nil, fmt.Errorf("run %s: %w", record.Run.ID, err)
	}
	n := &Night{Record: record, Report: &a.report, Pairs: a.main.pairs, Queue: a.queue, gates: a.gates, again: a.main.again}
	if n.Report.Reviewed, err = n.reviewed(options.Verdicts, options); err != nil {
		return nil, fmt.Errorf("run %s: %w", record.Run.ID, err)
	}
	return n, nil
}

func newAnalyser(record *replay.Record, options Options) (*analyser, error) {
	settings := DefaultSettings()
	if err := json.Unmarshal(record.Run.Plan.Analysis, &settings); err != nil {
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
	return &analyser{record: record, settings: settings, deterministic: options.Deterministic}, nil
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
	// rulings are what people decided; nil where nobody's verdict counts.
	rulings *rulings
	// looking finds only what gates stand on.
	looking bool
	lens    lens
	report  Report
	gates   gateInput
	main    *comparison
	queue   []pairing.Entry
	notes   []string
	// answers are the outcomes that were worked out, by episode and reference.
	answers map[[2]*replay.Episode]fixtures.Answer
}

func (a *analyser) find() error {
	r, plan := &a.report, a.record.Run.Plan
	*r = Report{
		Version: ReportVersion, Run: a.record.Run.ID, Command: plan.Command, Mode: plan.Settings.Mode.String(), Lineage: observed(a.record).Lineage, Arms: plan.Arms,
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
	if err := a.comparisons(&in); err != nil {
		return err
	}
	a.queue = pairing.Queue(a.record, a.main.pairs, a.main.again, plan.Planned())
	a.describe()
	r.Divergence = divergence(a.record, a.main.pairs)
	if err := a.items(&in); err != nil {
		return err
	}
	r.PromptTokens = promptTokens(a.record, in.candidate)
	r.Repeats = repeats(a.record)
	for _, arm := range plan.Arms {
		if arm.Kind == replay.CompactorArm {
			r.Compactions[arm.Name] = countCompactions(a.record, arm.Name)
		}
		r.TaskSuccess[arm.Name] = a.success(arm.Name, a.record.Fixtures)
	}
	if err := a.evidence(&in); err != nil {
		return err
	}
	var err error
	if r.Gates, err = in.gates(); err != nil {
		return err
	}
	a.show(&in)
	a.gates = in
	r.Unfinished = a.unfinished()
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
	r.Moves = moves(in.old, in.now)
	r.Moved, err = moved(in.old, in.now)
	return err
}

func (a *analyser) arm(role string) string {
	if arm := a.record.Arm(role); arm != nil {
		return arm.Name
	}
	return ""
}

// evidence fills in what stands beside the gates.
func (a *analyser) evidence(in *gateInput) (err error) {
	r := &a.report
	if r.Control, err = a.control(in.candidate); err != nil {
		return err
	}
	if r.Slices, err = newSlices(a.record, in.reference.pairs, in.old, in.now, a.settings); err != nil {
		return err
	}
	if r.Rates, err = a.rates(); err != nil {
		return err
	}
	if a.settings.Stop == StopEarly {
		stopping, err := a.stopping()
		if err != nil {
			return err
		}
		r.Stopping = &stopping
	}
	return nil
}

// embedded says that the run was played on the embedded provider.
func (a *analyser) embedded() bool {
	return strings.HasPrefix(a.record.Run.Plan.Lineage.Endpoint, replay.OfflineIdentity)
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

func (a *analyser) comparison(first, second string) (*comparison, error) {
	m, err := a.match(first, second)
	if err != nil {
		return nil, err
	}
	a.rulings.apply(m.Pairs)
	a.rulings.apply(m.Again)
	c := &comparison{pairs: m.Pairs, again: m.Again}
	c.Pairs, c.Discordant = newPairTable(c.pairs), map[string]pairing.Cell{}
	for i := range c.pairs {
		if c.pairs[i].Cell.Discordant() {
			c.Discordant[c.pairs[i].ID] = c.pairs[i].Cell
		}
	}
	plan := &a.record.Run.Plan
	order := replay.Sessions(a.record.Fixtures, plan.Settings.Seed)
	if a.looking {
		c.Test, _, err = decide(c.pairs, c.again, plan.Planned(), order, a.settings)
		return c, err
	}
	c.Test, err = newTest(c.pairs, c.again, plan.Planned(), order, a.settings)
	return c, err
}

// comparisons makes the comparisons of the run's command.
func (a *analyser) comparisons(in *gateInput) error {
	if a.record.Run.Plan.Command == "compare" {
		return a.compare(in)
	}
	return a.nightly(in)
}

// nightly compares reference with candidate, and both with the incumbent.
func (a *analyser) nightly(in *gateInput) (err error) {
	reference, incumbent, candidate := a.arm(RoleReference), a.arm(RoleIncumbent), a.arm(RoleCandidate)
	if in.reference, err = a.comparison(reference, candidate); err != nil {
		return err
	}
	a.setMain(reference, candidate, in.reference)
	in.candidate, in.incumbent = candidate, incumbent
	if incumbent == "" {
		return nil
	}
	if in.incumbents, err = a.comparison(reference, incumbent); err != nil {
		return err
	}
	if in.direct, err = a.comparison(incumbent, candidate); err != nil {
		return err
	}
	a.report.Incumbent = &IncumbentPart{
		Name: incumbent, PromptTokens: promptTokens(a.record, incumbent),
		Reference: in.incumbents.Comparison, Candidate: in.direct.Comparison,
	}
	return nil
}

// compare compares A with B, and each with the reference.
func (a *analyser) compare(in *gateInput) (err error) {
	reference, first, second := a.arm(RoleReference), a.arm(RoleA), a.arm(RoleB)
	if in.direct, err = a.comparison(first, second); err != nil {
		return err
	}
	a.setMain(first, second, in.direct)
	in.candidate, in.incumbent = second, first
	if in.incumbents, err = a.comparison(reference, first); err != nil {
		return err
	}
	if in.reference, err = a.comparison(reference, second); err != nil {
		return err
	}
	a.report.AgainstReference = map[string]Comparison{first: in.incumbents.Comparison, second: in.reference.Comparison}
	return nil
}

// show puts into the report what the comparisons say once the gates have settled at
// which level.
func (a *analyser) show(in *gateInput) {
	a.report.Test = a.main.Test
	if part := a.report.Incumbent; part != nil {
		part.Reference, part.Candidate = in.incumbents.Comparison, in.direct.Comparison
	}
	if a.report.AgainstReference != nil {
		a.report.AgainstReference = map[string]Comparison{in.incumbent: in.incumbents.Comparison, in.candidate: in.reference.Comparison}
	}
}

func (a *analyser) setMain(first, second string, c *comparison) {
	a.report.Baseline, a.report.Candidate = first, second
	a.report.Pairs, a.report.Test = c.Pairs, c.Test
	a.main = c
}

func newPairTable(pairs []pairing.Pair) PairTable {
	t := PairTable{Table: pairing.Count(pairs, nil), ByReference: map[pairing.By]pairing.Table{}}
	for _, by := range []pairing.By{pairing.Replayed, pairing.Accepted} {
		t.ByReference[by] = pairing.Count(pairs, func(p *pairing.Pair) bool { return p.By == by })
	}
	for i := range pairs {
		if at := pairs[i].First.Context; at != "" && at == pairs[i].Second.Context {
			t.Identical++
		}
	}
	return t
}

// describe fills in the disagreements and what was not paired.
func (a *analyser) describe() {
	for _, entry := range a.queue {
		d := Disagreement{ID: entry.ID, Title: entry.Title, Cell: entry.Cell, By: entry.By, Confirmed: entry.Confirmed, Critical: isCritical(a.record.Fixture(entry.Fixture), &entry.Pair), Items: []pairing.ItemFate{}, Checks: []string{}}
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
	for _, p := range a.main.pairs {
		switch p.Cell {
		case pairing.Unscored, pairing.Void, pairing.LeftOut:
			a.report.NotPaired = append(a.report.NotPaired, NotPaired{p.ID, p.Cell, p.Reason})
		}
	}
}

// success counts the first plays of an arm that passed, among some fixtures.
func (a *analyser) success(arm string, set []*fixtures.Fixture) Share {
	var share Share
	reference := a.arm(RoleReference)
	for _, f := range set {
		e := a.record.Episode(replay.Key{Fixture: f.Hash, Arm: arm})
		if e == nil {
			continue
		}
		expected := a.record.Episode(replay.Key{Fixture: f.Hash, Arm: reference})
		switch a.answer(f, e, expected) {
		case fixtures.Pass:
			share.Passed++
			share.Scored++
		case fixtures.Fail:
			share.Scored++
		}
	}
	return share
}

// answer is the outcome of an episode, worked out once.
func (a *analyser) answer(f *fixtures.Fixture, e, reference *replay.Episode) fixtures.Answer {
	key := [2]*replay.Episode{e, reference}
	answer, known := a.answers[key]
	if !known {
		answer = pairing.Judge(f, e, reference).Answer
		if a.answers == nil {
			a.answers = map[[2]*replay.Episode]fixtures.Answer{}
		}
		a.answers[key] = answer
	}
	return answer
}

// verdict draws the conclusion: first whether the run is valid, then from the gates, then
// from what so many pairs can show.
func (a *analyser) verdict() {
	r := &a.report
	var blocking []string
	for _, g := range r.Gates {
		if g.Status == GateRegressed {
			blocking = append(blocking, g.Name+": "+g.Reason)
		}
	}
	switch {
	case !r.Judge.Trusted && !a.deterministic:
		// A run whose instrument failed is no run, whatever else it saw.
		r.Verdict, r.Why = Incomplete, append(a.incomplete(), blocking...)
		return
	case r.Unfinished != nil:
		// What is played so far may block, or not any more once all is.
		r.Verdict, r.Why = Incomplete, append(a.incomplete(), soFar(blocking)...)
		return
	case !r.Control.Valid:
		r.Verdict = InvalidNoise
		r.Why = append([]string{fmt.Sprintf("the reference disagrees with itself in %d of %s (%.1f%%), more than the noise budget of %.1f%%: what differs between the arms says nothing",
			r.Control.Pairs.Losses+r.Control.Pairs.Gains, counted(r.Control.Pairs.Scored(), "pair"), 100**r.Control.Discordant, 100*r.Control.Budget)}, blocking...)
		return
	case len(blocking) > 0:
		// What went unscored is no reason, and a reader must know of it all the same.
		r.Verdict, r.Why = Regressed, append(blocking, a.incomplete()...)
		return
	}
	if why := a.incomplete(); len(why) > 0 {
		r.Verdict, r.Why = Incomplete, why
		return
	}
	r.Verdict, r.Why = a.unblocked()
}

// unblocked tells clear from inconclusive. Losses that a person has not looked at keep
// a run from being clear, however few they are: the aggregate can't see how bad each is.
func (a *analyser) unblocked() (Verdict, []string) {
	r := &a.report
	margin := 100 * a.settings.Margin
	var why []string
	if !r.Test.NonInferior {
		do := "do"
		if r.Test.Pairs == 1 {
			do = "does"
		}
		line := fmt.Sprintf("nothing blocks, but %s %s not show that %s is worse by less than the margin of %.0f%%", counted(r.Test.Pairs, "pair"), do, r.Candidate, margin)
		if !r.Test.PerfectRunPasses && r.Test.Pairs > 0 {
			line += "; not even a run without any loss could: the set is too small for this margin"
		}
		why = append(why, line)
	}
	if n := a.losses(); n > 0 {
		line := counted(n, "loss") + " wait in the queue, and no average can tell how bad they are"
		if n == 1 {
			line = "1 loss waits in the queue, and no average can tell how bad it is"
		}
		if r.Test.NonInferior {
			line = fmt.Sprintf("nothing blocks and the difference is within the margin of %.0f%%, but %s", margin, line)
		}
		why = append(why, line)
	}
	for _, g := range r.Gates {
		if g.Status == GateUnscored && slices.ContainsFunc(criticals(), func(k critical) bool { return k.name == g.Name }) {
			why = append(why, g.Name+": "+g.Reason)
		}
		if g.Status == GatePass && isBehaviour(g.Name) && g.Reason != "" {
			why = append(why, g.Name+": "+g.Reason)
		}
	}
	if len(why) > 0 {
		return Inconclusive, why
	}
	return Clear, []string{fmt.Sprintf("nothing blocks, nothing is lost, and %s is worse than %s by less than the margin of %.0f%%", r.Candidate, r.Baseline, margin)}
}

// losses counts the losses in the queue: of first plays, and of planned further ones.
func (a *analyser) losses() int {
	n := 0
	for i := range a.queue {
		if a.queue[i].Cell == pairing.Loss {
			n++
		}
	}
	return n
}

// incomplete says what went unscored beyond the tolerance.
func (a *analyser) incomplete() []string {
	var why []string
	r := &a.report
	if r.Unfinished != nil {
		why = append(why, r.Unfinished.String())
	}
	if !r.Judge.Trusted && !a.deterministic {
		why = append(why, "the judge can't be relied on: "+r.Judge.Reason)
	}
	if reason := a.varies(); reason != "" {
		why = append(why, reason)
	}
	over := func(n, total int, what string) {
		if total > 0 && float64(n) > a.settings.MaxUnscored*float64(total) {
			why = append(why, fmt.Sprintf("%d of %d %s are unscored, more than %.0f%%", n, total, what, 100*a.settings.MaxUnscored))
		}
	}
	expected := a.record.Run.Plan.Fixtures
	if r.Stopping != nil && r.Stopping.Certain {
		expected = r.Stopping.Fixtures // the others were not to be played
	}
	if missing := expected - r.Pairs.Total; missing > 0 {
		why = append(why, fmt.Sprintf("%d of %d fixtures were not played to the end", missing, expected))
	}
	over(r.Pairs.Unscored+r.Pairs.Void, r.Pairs.Total, "pairs")
	if reason := a.commonReason(); reason != "" && len(why) > 0 {
		why = append(why, "most often because of: "+reason)
	}
	if t := r.Control.Pairs; t != nil {
		over(t.Unscored+t.Void, t.Total-t.LeftOut, "control pairs")
		if t.Total-t.LeftOut > 0 && t.Unscored+t.Void > 0 && r.Control.Reason != "" {
			why = append(why, "control: "+r.Control.Reason)
		}
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

// soFar marks what blocks in a run that is not over.
func soFar(blocking []string) []string {
	out := make([]string, len(blocking))
	for i, line := range blocking {
		out[i] = "so far, " + line
	}
	return out
}

// commonReason is the reason, without the place, that kept most pairs from an outcome.
func (a *analyser) commonReason() string {
	counts := map[string]int{}
	best := ""
	for i := range a.main.pairs {
		p := &a.main.pairs[i]
		if p.Cell != pairing.Unscored && p.Cell != pairing.Void {
			continue
		}
		reason := a.withoutPlace(p)
		counts[reason]++
		if counts[reason] > counts[best] {
			best = reason
		}
	}
	return best
}

// withoutPlace is why a pair has no outcome, in words that are the same wherever it
// happens. They stand alone: what is left out must not turn around what they say.
func (a *analyser) withoutPlace(p *pairing.Pair) string {
	for _, arm := range []string{p.First.Arm, p.Second.Arm} {
		e := a.record.Episode(replay.Key{Fixture: p.Fixture, Arm: arm, Replicate: p.Replicate})
		if p.Cell != pairing.Void || e == nil || e.Status != replay.Void {
			continue
		}
		for _, c := range e.Compactions {
			if c.Status != replay.Compacted {
				reason := fmt.Sprintf("%s: an expected compaction did not run: %s", arm, c.Status)
				if c.Reason != "" {
					reason += " (" + c.Reason + ")"
				}
				return reason
			}
		}
	}
	if i := strings.Index(p.Reason, "asking model "); i >= 0 {
		return p.Reason[i:]
	}
	if _, call, ok := strings.Cut(p.Reason, " had no recorded result"); ok {
		return "a call had no recorded result" + call
	}
	return p.Reason
}

// note adds what a reader must know beside the numbers.
func (a *analyser) note() {
	a.noteAnswers()
	if a.record.Damaged > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d journal lines are damaged and were left out", a.record.Damaged))
	}
	missed := 0
	for _, e := range a.record.Episodes {
		for _, s := range e.Steps {
			if s.Divergent() {
				missed++
			}
		}
	}
	if missed > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d tool calls had no recorded result and got a fixed text", missed))
	}
	for _, name := range a.record.Run.Plan.Quarantined {
		a.notes = append(a.notes, "in quarantine, and not played: "+name)
	}
	if injected := a.report.Lineage.Injected; injected != "" {
		a.notes = append(a.notes, fmt.Sprintf("the compactors' model failed on purpose (%s): this run says what becomes of the history then, and is no baseline", injected))
	}
	a.noteRepeats()
	a.noteEvidence()
	if !a.report.Lineage.VocabularyOwn {
		a.notes = append(a.notes, fmt.Sprintf("tokens are counted with the vocabulary %s, which may not be that of %s", a.report.Lineage.Vocabulary, a.report.Lineage.AgentModel))
	}
	if slices.ContainsFunc(a.record.Fixtures, func(f *fixtures.Fixture) bool { return f.Sampling == "adversarial" }) {
		a.notes = append(a.notes, "an adversarial set says what can go wrong, not how often it does in production")
	}
}

// noteEvidence adds what the evidence beside the gates says.
func (a *analyser) noteEvidence() {
	r := &a.report
	if s := r.Stopping; s != nil && s.Certain && s.Fixtures < s.Of {
		a.notes = append(a.notes, fmt.Sprintf("stopped early, after %d of %s (look %d): harm was certain; rates and items are those of what was played", s.Fixtures, counted(s.Of, "fixture"), s.Looks))
	}
	if c := r.Control.Churn; c != nil && c.PMore <= a.settings.Alpha {
		a.notes = append(a.notes, fmt.Sprintf("%s disagrees with the reference more often than the reference does with itself (p %.4f), in whatever direction: read the gains, too", r.Candidate, c.PMore))
	}
}
