package analysis

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// MostExcluded is the share of pairs that verdicts may take out of a run. Beyond it what
// is left is another set than the one that was planned.
const MostExcluded = 0.10

// Reviewed is what people's verdicts make of the run. It stands beside what was found
// without them and never replaces it.
type Reviewed struct {
	Queue     int `json:"queue"`
	Decided   int `json:"decided"`
	Disputed  int `json:"disputed"`
	Undecided int `json:"undecided"`
	// Stale counts verdicts on evidence that has changed since; they are not applied.
	Stale int `json:"stale"`
	// Changes are the pairs that a verdict moved to another cell, those of further planned
	// replicates, too.
	Changes []Change `json:"changes"`
	// Unmoved are the pairs of which checks were ruled wrong and that still fail others.
	Unmoved []Unmoved `json:"unmoved,omitempty"`
	// AsWere takes pairs that are not decided as they were found. AtWorst takes them at the
	// worst that any ruling can make of them: no further rulings give more losses or fewer
	// gains, or a smaller p value of the candidate being worse.
	AsWere  Outcome `json:"undecided_as_were"`
	AtWorst Outcome `json:"undecided_at_worst"`
}

// Change is a pair that a verdict moved.
type Change struct {
	Pair   string         `json:"pair"`
	From   pairing.Cell   `json:"from"`
	To     pairing.Cell   `json:"to"`
	Ruling pairing.Ruling `json:"ruling"`
	By     []string       `json:"by"`
}

// Unmoved is a pair that stays where it was though checks of it are ruled wrong.
type Unmoved struct {
	Pair   string       `json:"pair"`
	Cell   pairing.Cell `json:"cell"`
	Checks []string     `json:"checks"` // those that are ruled wrong
	Reason string       `json:"reason"`
}

// Outcome is the answer of a run under verdicts.
type Outcome struct {
	Verdict Verdict  `json:"verdict"`
	Why     []string `json:"why"`
	// Excluded counts the pairs whose fixture is wrong.
	Excluded int           `json:"excluded,omitempty"`
	Pairs    pairing.Table `json:"pairs"`
	Test     Test          `json:"test"`
	Gates    []Gate        `json:"gates"`
}

// Excluded is the cell of a pair whose fixture is wrong: it leaves the set for this run.
const Excluded pairing.Cell = "excluded"

// rulings are what people decided, in terms of outcomes.
type rulings struct {
	// outcome is what an episode counts as.
	outcome map[replay.Key]fixtures.Answer
	exclude map[fixtures.Hash]bool
	// ignore are the checks of a fixture that are wrong.
	ignore map[fixtures.Hash][]string
}

// set rules on the two episodes of a pair.
func (r *rulings) set(p *pairing.Pair, first, second fixtures.Answer) {
	r.outcome[replay.Key{Fixture: p.Fixture, Arm: p.First.Arm, Replicate: p.Replicate}] = first
	r.outcome[replay.Key{Fixture: p.Fixture, Arm: p.Second.Arm, Replicate: p.Replicate}] = second
}

// plays are the pairs of every fixture, of all its replicates.
func (n *Night) plays() map[fixtures.Hash][]*pairing.Pair {
	plays := map[fixtures.Hash][]*pairing.Pair{}
	for _, list := range [][]pairing.Pair{n.Pairs, n.again} {
		for i := range list {
			plays[list[i].Fixture] = append(plays[list[i].Fixture], &list[i])
		}
	}
	return plays
}

// rule turns standings into outcomes. A ruling on what the two sides did is one on the play
// that is in the queue, and on those that were made only to confirm it and came out alike;
// that a fixture or a check is wrong holds for every play. Worst also settles what is not
// decided.
func (n *Night) rule(plays map[fixtures.Hash][]*pairing.Pair, standings []pairing.Standing, worst bool) *rulings {
	r := &rulings{outcome: map[replay.Key]fixtures.Answer{}, exclude: map[fixtures.Hash]bool{}, ignore: map[fixtures.Hash][]string{}}
	planned := n.Record.Run.Plan.Planned()
	for i := range n.Queue {
		e := &n.Queue[i]
		set := func(first, second fixtures.Answer) {
			r.set(&e.Pair, first, second)
			for _, p := range plays[e.Fixture] {
				if p.Replicate >= planned && p.Cell == e.Cell {
					r.set(p, first, second)
				}
			}
		}
		switch standings[i].Ruling {
		case pairing.CandidateWorse:
			set(fixtures.Pass, fixtures.Fail)
		case pairing.CandidateBetter:
			set(fixtures.Fail, fixtures.Pass)
		case pairing.BothFine:
			set(fixtures.Pass, fixtures.Pass)
		case pairing.CheckWrong:
			r.ignore[e.Fixture] = standings[i].Checks
		case pairing.BothWrong:
			set(fixtures.Fail, fixtures.Fail)
		case pairing.FixtureWrong:
			r.exclude[e.Fixture] = true
		case "":
			if !worst {
				continue
			}
			// That a check is wrong can make a loss of other plays, and that the fixture is
			// takes their gains away.
			for _, p := range plays[e.Fixture] {
				switch {
				case p.Replicate >= planned || p.ID == e.ID:
				case p.CanLose(e.Differ):
					r.set(p, fixtures.Pass, fixtures.Fail)
				case p.Cell == pairing.Gain:
					r.set(p, fixtures.Fail, fixtures.Fail)
				}
			}
			set(fixtures.Pass, fixtures.Fail)
		}
	}
	return r
}

// apply counts pairs as they were ruled.
func (r *rulings) apply(pairs []pairing.Pair) {
	if r == nil {
		return
	}
	for i := range pairs {
		p := &pairs[i]
		if !p.Cell.Scored() {
			continue
		}
		r.side(p, &p.First)
		r.side(p, &p.Second)
		p.Cell = pairing.CellOf(p.First.Outcome.Answer, p.Second.Outcome.Answer)
	}
}

func (r *rulings) side(p *pairing.Pair, s *pairing.Side) {
	if checks, ok := r.ignore[p.Fixture]; ok {
		s.Outcome = s.Outcome.Without(checks)
		return
	}
	answer, ok := r.outcome[replay.Key{Fixture: p.Fixture, Arm: s.Arm, Replicate: p.Replicate}]
	if !ok {
		return
	}
	s.Outcome.Answer = answer
	if answer != fixtures.Pass {
		return
	}
	// A person let it pass: none of its checks counts as failed any more.
	checks := make([]fixtures.Result, len(s.Outcome.Checks))
	for i, c := range s.Outcome.Checks {
		if c.Answer == fixtures.Fail {
			c.Answer = fixtures.Pass
		}
		checks[i] = c
	}
	s.Outcome.Checks = checks
}

// without is the record without the fixtures that are wrong.
func (r *rulings) without(record *replay.Record) *replay.Record {
	part := &replay.Record{
		Dir: record.Dir, Run: record.Run, Judgements: record.Judgements, Controls: record.Controls,
		Ratings: record.Ratings, Contexts: record.Contexts, Damaged: record.Damaged,
	}
	for _, f := range record.Fixtures {
		if !r.exclude[f.Hash] {
			part.Fixtures = append(part.Fixtures, f)
		}
	}
	for _, e := range record.Episodes {
		if !r.exclude[e.Fixture] {
			part.Episodes = append(part.Episodes, e)
		}
	}
	part.Run.Plan.Fixtures -= len(record.Fixtures) - len(part.Fixtures)
	return part
}

// reviewed finds what verdicts make of the night.
func (n *Night) reviewed(verdicts []pairing.Verdict, options Options) (*Reviewed, error) {
	if len(verdicts) == 0 {
		return nil, nil
	}
	standings := pairing.Stand(n.Record, n.Queue, verdicts)
	r := &Reviewed{Queue: len(n.Queue), Changes: []Change{}}
	for i := range standings {
		s := &standings[i]
		r.Stale += len(s.Stale)
		switch s.State {
		case pairing.Decided:
			r.Decided++
		case pairing.Disputed:
			r.Disputed++
		default:
			r.Undecided++
		}
	}
	plays := n.plays()
	found, asWere, err := n.under(n.rule(plays, standings, false), options)
	if err != nil {
		return nil, err
	}
	r.AsWere = asWere
	n.moved(r, plays, standings, found)
	_, r.AtWorst, err = n.under(n.rule(plays, standings, true), options)
	return r, err
}

// moved fills in which plays that count verdicts moved, and which they did not.
func (n *Night) moved(r *Reviewed, plays map[fixtures.Hash][]*pairing.Pair, standings []pairing.Standing, found *analyser) {
	after := map[string]pairing.Cell{}
	for _, list := range [][]pairing.Pair{found.main.pairs, found.main.again} {
		for i := range list {
			after[list[i].ID] = list[i].Cell
		}
	}
	planned := n.Record.Run.Plan.Planned()
	for i := range n.Queue {
		s := &standings[i]
		if s.Ruling == "" {
			continue
		}
		for _, p := range plays[n.Queue[i].Fixture] {
			if p.Replicate >= planned {
				continue // it confirms another play, and counts into nothing
			}
			to, ok := after[p.ID]
			if !ok {
				to = Excluded
			}
			if to != p.Cell {
				r.Changes = append(r.Changes, Change{Pair: p.ID, From: p.Cell, To: to, Ruling: s.Ruling, By: ruledBy(s)})
			}
			if why := p.Remains(s.Ruling, s.Checks); why != "" && p.Cell.Discordant() {
				r.Unmoved = append(r.Unmoved, Unmoved{Pair: p.ID, Cell: to, Checks: slices.Clone(s.Checks), Reason: why})
			}
		}
	}
}

// ruledBy are those who ruled as a pair was decided.
func ruledBy(s *pairing.Standing) []string {
	var names []string
	for _, v := range s.Verdicts {
		if v.Ruling == s.Ruling {
			names = append(names, v.By)
		}
	}
	return names
}

// under analyses the night again under rulings.
func (n *Night) under(r *rulings, options Options) (*analyser, Outcome, error) {
	a, err := newAnalyser(r.without(n.Record), options)
	if err != nil {
		return nil, Outcome{}, err
	}
	a.rulings = r
	if err := a.find(); err != nil {
		return nil, Outcome{}, fmt.Errorf("after review: %w", err)
	}
	o := Outcome{Verdict: a.report.Verdict, Why: a.report.Why, Pairs: a.report.Pairs.Table, Test: a.report.Test, Gates: a.report.Gates}
	total := n.Report.Pairs.Total
	o.Excluded = total - o.Pairs.Total
	if float64(o.Excluded) <= MostExcluded*float64(total) {
		return a, o, nil
	}
	// What blocks, blocks all the same.
	o.Why = append([]string{fmt.Sprintf("%d of %d pairs are excluded since their fixtures are wrong, more than %.0f%%: what is left is another set; mend the fixtures and play it again", o.Excluded, total, 100*MostExcluded)}, o.Why...)
	if o.Verdict == Clear || o.Verdict == Inconclusive {
		o.Verdict = Incomplete
	}
	return a, o, nil
}
