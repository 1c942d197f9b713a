package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Reviewed is what people's verdicts make of the run. It stands beside what was found
// without them and never replaces it.
type Reviewed struct {
	Queue     int `json:"queue"`
	Decided   int `json:"decided"`
	Disputed  int `json:"disputed"`
	Undecided int `json:"undecided"`
	// Stale counts verdicts on evidence that has changed since; they are not applied.
	Stale int `json:"stale"`
	// Changes are the pairs that a verdict moved to another cell.
	Changes []Change `json:"changes"`
	// AsWere takes undecided pairs as they were found, AtWorst at their worst: a loss
	// stays a loss, and what looked like a gain is none.
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

// Outcome is the answer of a run under verdicts.
type Outcome struct {
	Verdict Verdict       `json:"verdict"`
	Why     []string      `json:"why"`
	Pairs   pairing.Table `json:"pairs"`
	Test    Test          `json:"test"`
	Gates   []Gate        `json:"gates"`
}

// Excluded is the cell of a pair whose fixture is wrong: it leaves the set for this run.
const Excluded pairing.Cell = "excluded"

// rulings are what people decided, in terms of outcomes.
type rulings struct {
	// outcome is what an arm's episode of a fixture counts as.
	outcome map[replay.Key]fixtures.Answer
	exclude map[fixtures.Hash]bool
	// ignore is the check of a fixture that is wrong.
	ignore map[fixtures.Hash]string
}

// rule turns standings into outcomes. Worst also settles what is not decided.
func rule(queue []pairing.Entry, standings []pairing.Standing, worst bool) *rulings {
	r := &rulings{outcome: map[replay.Key]fixtures.Answer{}, exclude: map[fixtures.Hash]bool{}, ignore: map[fixtures.Hash]string{}}
	for i := range queue {
		e := &queue[i]
		set := func(first, second fixtures.Answer) {
			r.outcome[replay.Key{Fixture: e.Fixture, Arm: e.First.Arm}] = first
			r.outcome[replay.Key{Fixture: e.Fixture, Arm: e.Second.Arm}] = second
		}
		switch standings[i].Ruling {
		case pairing.CandidateWorse:
			set(fixtures.Pass, fixtures.Fail)
		case pairing.CandidateBetter:
			set(fixtures.Fail, fixtures.Pass)
		case pairing.BothFine:
			set(fixtures.Pass, fixtures.Pass)
		case pairing.CheckWrong:
			r.ignore[e.Fixture] = standings[i].Check
		case pairing.BothWrong:
			set(fixtures.Fail, fixtures.Fail)
		case pairing.FixtureWrong:
			r.exclude[e.Fixture] = true
		case "":
			if worst && e.Cell == pairing.Gain {
				set(fixtures.Fail, fixtures.Fail)
			}
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
	if check, ok := r.ignore[p.Fixture]; ok {
		s.Outcome = without(s.Outcome, check)
		return
	}
	answer, ok := r.outcome[replay.Key{Fixture: p.Fixture, Arm: s.Arm}]
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

// without is an outcome by the other checks alone.
func without(o pairing.Outcome, check string) pairing.Outcome {
	rest := []fixtures.Result{}
	o.Answer = fixtures.Pass
	for _, c := range o.Checks {
		if c.Check == check {
			continue
		}
		rest = append(rest, c)
		switch {
		case c.Answer == fixtures.Fail:
			o.Answer = fixtures.Fail
		case c.Answer == fixtures.Unscored && o.Answer == fixtures.Pass:
			o.Answer = fixtures.Unscored
		}
	}
	o.Checks = rest
	return o
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
		if change := changed(&n.Queue[i], s); change != nil {
			r.Changes = append(r.Changes, *change)
		}
	}
	var err error
	if r.AsWere, err = n.under(rule(n.Queue, standings, false), options); err != nil {
		return nil, err
	}
	r.AtWorst, err = n.under(rule(n.Queue, standings, true), options)
	return r, err
}

func changed(e *pairing.Entry, s *pairing.Standing) *Change {
	to := e.Cell
	switch s.Ruling {
	case pairing.CandidateWorse:
		to = pairing.Loss
	case pairing.CandidateBetter:
		to = pairing.Gain
	case pairing.BothFine:
		to = pairing.BothPass
	case pairing.CheckWrong:
		to = pairing.CellOf(without(e.First.Outcome, s.Check).Answer, without(e.Second.Outcome, s.Check).Answer)
	case pairing.BothWrong:
		to = pairing.BothFail
	case pairing.FixtureWrong:
		to = Excluded
	}
	if to == e.Cell {
		return nil
	}
	change := &Change{Pair: e.ID, From: e.Cell, To: to, Ruling: s.Ruling}
	for _, v := range s.Verdicts {
		if v.Ruling == s.Ruling {
			change.By = append(change.By, v.By)
		}
	}
	return change
}

// under analyses the night again under rulings.
func (n *Night) under(r *rulings, options Options) (Outcome, error) {
	a, err := newAnalyser(r.without(n.Record), options)
	if err != nil {
		return Outcome{}, err
	}
	a.rulings = r
	if err := a.find(); err != nil {
		return Outcome{}, fmt.Errorf("after review: %w", err)
	}
	return Outcome{Verdict: a.report.Verdict, Why: a.report.Why, Pairs: a.report.Pairs.Table, Test: a.report.Test, Gates: a.report.Gates}, nil
}
