package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// cellName is a cell in words.
func cellName(c pairing.Cell) string {
	switch c {
	case pairing.BothPass:
		return "both passed"
	case pairing.BothFail:
		return "both failed"
	case pairing.Loss:
		return "a loss"
	case pairing.Gain:
		return "a gain"
	case pairing.Void:
		return "void"
	case pairing.LeftOut:
		return "left out"
	}
	return "unscored"
}

// why puts together why the pair came out as it did.
func (t *teller) why() []string {
	s := t.story
	a, b := s.Baseline.Name, s.Candidate.Name
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch s.Cell {
	case pairing.Loss:
		say("It is a loss: %s passed and %s failed.", a, b)
		list = append(list, t.blame(&s.Candidate, &s.Baseline)...)
	case pairing.Gain:
		say("It is a gain: %s failed and %s passed.", a, b)
		list = append(list, t.blame(&s.Baseline, &s.Candidate)...)
	case pairing.BothPass:
		say("It is concordant: both arms passed every check.")
		list = append(list, t.lostAnyway()...)
		if s.Divergence != nil && s.Divergence.Kind == pairing.InCalls {
			say("They did different things from turn %d on, and no check minds.", s.Divergence.Turn)
		}
	case pairing.BothFail:
		say("It is concordant: both arms failed, so that the compaction is not what made the difference.")
		for _, arm := range []*Arm{&s.Baseline, &s.Candidate} {
			for _, c := range failed(arm) {
				say("Under %s check %s failed: %s.", arm.Name, c.ID, evidence(c))
			}
		}
	case pairing.Void:
		say("It is void, neither pass nor fail: a compaction was expected and did not run (%s).", s.Reason)
	case pairing.LeftOut:
		say("It was left out: there is nothing to hold %s against (%s).", b, s.Reason)
	default:
		say("It is unscored, by nobody's fault that is under test: %s.", s.Reason)
	}
	if s.By == pairing.Accepted && s.Cell.Scored() {
		say("No reference was played: %s stands on a trace that a person accepted, which can only pass.", a)
	}
	if t.pair != nil && t.pair.First.Context != "" && t.pair.First.Context == t.pair.Second.Context {
		say("Both agents went on from the same bytes, so that it was played once.")
	}
	return list
}

// evidence is that of a check, short enough for a sentence; the check has it whole.
func evidence(c Check) string { return strings.TrimRight(report.Shorten(c.Evidence, 240), ".") }

func failed(arm *Arm) []Check {
	var list []Check
	for _, c := range arm.Checks {
		if c.Answer == fixtures.Fail {
			list = append(list, c)
		}
	}
	return list
}

// blame ties the failed checks of an arm to what its compactions did to the items that
// they guard, with what the other arm had of them beside it.
func (t *teller) blame(bad, good *Arm) []string {
	var list []string
	for _, c := range failed(bad) {
		line := fmt.Sprintf("Under %s check %s failed: %s.", bad.Name, c.ID, evidence(c))
		if c.Item != "" {
			line += " It guards item " + c.Item + ", " + t.pathOf(bad, c.Item)
			if len(good.Compactions) > 0 {
				line += "; under " + good.Name + " it was " + t.pathOf(good, c.Item)
			} else if good.Status == replay.Played {
				line += "; " + good.Name + " had the recorded turns as they are"
			}
			line += "."
		}
		list = append(list, line)
	}
	return list
}

// pathOf says what became of an item at each compaction up to the fork.
func (t *teller) pathOf(arm *Arm, item string) string {
	var parts []string
	for i := range arm.Compactions {
		c := &arm.Compactions[i]
		if c.AfterTurn > t.story.Fork {
			continue
		}
		for _, f := range c.Items {
			if f.Item == item {
				parts = append(parts, fmt.Sprintf("%s after compaction %d", f.Verdict, c.Number))
			}
		}
	}
	if len(parts) == 0 {
		return "which no compaction had in front of it"
	}
	return strings.Join(parts, " and ")
}

// lostAnyway names the items that the candidate lost without a check that minds.
func (t *teller) lostAnyway() []string {
	var lost []string
	for _, c := range t.story.Candidate.Compactions {
		for _, f := range c.Items {
			if f.Binds && (f.Verdict == replay.Absent || f.Verdict == replay.Contradicted) && !slices.Contains(lost, f.Item) {
				lost = append(lost, f.Item)
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Items that the compactions of %s lost all the same: %s. The item gates count them; this pair does not.", t.story.Candidate.Name, strings.Join(lost, ", "))}
}

// effect says what the pair does to the verdict of the run.
func (t *teller) effect() []string {
	r, s := t.night.Report, t.story
	main := s.Baseline.Name == r.Baseline && s.Candidate.Name == r.Candidate
	table := pairing.Count(t.pairs, func(p *pairing.Pair) bool { return p.By == pairing.Replayed })
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch {
	case !s.Cell.Scored():
		say("It has no outcome and is no part of any test.")
	case s.By == pairing.Accepted:
		accepted := pairing.Count(t.pairs, func(p *pairing.Pair) bool { return p.By == pairing.Accepted })
		say("It is counted apart, among %s on accepted traces (losses %d), and is no part of the test.", report.Plural(accepted.Scored(), "pair"), accepted.Losses)
	case s.Cell == pairing.Loss:
		say("It is 1 of %s, beside %s, in %s.", report.Plural(table.Losses, "loss"), report.Plural(table.Gains, "gain"), report.Plural(table.Scored(), "replayed pair"))
	case s.Cell == pairing.Gain:
		say("It is 1 of %s, beside %s, in %s.", report.Plural(table.Gains, "gain"), report.Plural(table.Losses, "loss"), report.Plural(table.Scored(), "replayed pair"))
	default:
		say("The test looks at the pairs that disagree (losses %d, gains %d); this one only adds to the %s.", table.Losses, table.Gains, report.Plural(table.Scored(), "replayed pair"))
	}
	if main && s.Cell.Scored() && s.By == pairing.Replayed && r.Test.Pairs > 0 {
		say("The exact test over session groups gives p(worse) = %.4g, against the level of %.4g.", r.Test.PCluster, r.Test.Level)
	}
	if same := t.groupPairs(); same > 1 {
		say("Its session group %s has %s, which count as one session.", s.Group, report.Plural(same, "pair"))
	}
	if main {
		list = append(list, t.gates()...)
	}
	if !main {
		say("The main comparison of the run is another one: %s against %s.", r.Candidate, r.Baseline)
	}
	if !r.Judge.Trusted {
		say("The judge failed its controls in this run: where it was asked, its verdicts on items count as unscored.")
	}
	say("The verdict of the run is %s.", s.Verdict)
	return list
}

// groupPairs counts the pairs of the session group.
func (t *teller) groupPairs() int {
	n := 0
	for i := range t.pairs {
		if t.pairs[i].Group == t.story.Group {
			n++
		}
	}
	return n
}

// gates names the rows that regressed with items of this fixture among what was newly lost.
func (t *teller) gates() []string {
	var names []string
	for _, g := range t.night.Report.Gates {
		if g.Status != analysis.GateRegressed {
			continue
		}
		if slices.ContainsFunc(g.NewlyLost, func(line string) bool { return strings.HasPrefix(line, t.story.Fixture+" ") }) {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Items of it are among what regressed in the gates %s.", strings.Join(names, ", "))}
}
