package outcomes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
)

// ErrNothingPairs says that two files have no key in common.
var ErrNothingPairs = errors.New("no row of one file has its partner in the other")

// Comparison is two files of outcomes, paired and tested.
type Comparison struct {
	Baseline  *File `json:"baseline"`
	Candidate *File `json:"candidate"`
	// Verdict says what follows: [analysis.Regressed] where the candidate is worse by
	// more than chance, [analysis.Incomplete] where too many rows have no partner or no
	// outcome, [analysis.Clear] where it is shown to be worse by less than the margin,
	// and [analysis.Inconclusive] else. Why says it in words.
	Verdict analysis.Verdict   `json:"verdict"`
	Why     []string           `json:"why"`
	Pairs   analysis.PairTable `json:"pairs"`
	Test    analysis.Test      `json:"test"`
	// Losses and Gains are the discordant pairs, Unscored those without an outcome on
	// both sides, in the order of the baseline.
	Losses   []Pair `json:"losses"`
	Gains    []Pair `json:"gains"`
	Unscored []Pair `json:"unscored"`
	// OnlyBaseline and OnlyCandidate name the rows without a partner.
	OnlyBaseline  []string `json:"only_baseline"`
	OnlyCandidate []string `json:"only_candidate"`
	// Notes are what a reader must know beside the numbers.
	Notes    []string          `json:"notes"`
	Settings analysis.Settings `json:"-"`
}

// Pair is two rows of one key.
type Pair struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Baseline and Candidate are the scores; null where a side has none, for the reason.
	Baseline  *float64 `json:"baseline"`
	Candidate *float64 `json:"candidate"`
	Reason    string   `json:"reason,omitempty"`
}

// Compare pairs the rows of two files by key and tests whether the candidate is worse.
// It is [ErrNothingPairs] where no key is in both.
func Compare(baseline, candidate *File, s analysis.Settings) (*Comparison, error) {
	c := &Comparison{
		Baseline: baseline, Candidate: candidate, Settings: s,
		Losses: []Pair{}, Gains: []Pair{}, Unscored: []Pair{}, OnlyBaseline: []string{}, OnlyCandidate: []string{}, Why: []string{}, Notes: []string{},
	}
	if baseline.plan != nil && candidate.plan != nil {
		for _, difference := range analysis.LineageDifferences(baseline.plan, candidate.plan) {
			c.Notes = append(c.Notes, "the runs differ beside their arms: "+difference)
		}
	}
	partners := map[string]*Row{}
	for i := range candidate.Rows {
		partners[candidate.Rows[i].Key] = &candidate.Rows[i]
	}
	var pairs []pairing.Pair
	met := map[string]bool{}
	for i := range baseline.Rows {
		first := &baseline.Rows[i]
		second := partners[first.Key]
		if second == nil && candidate.doubled[first.content()] {
			continue // it has too many partners
		}
		if second == nil {
			c.OnlyBaseline = append(c.OnlyBaseline, first.Name)
			continue
		}
		met[first.Key] = true
		cell := pairing.CellOf(first.Answer, second.Answer)
		pairs = append(pairs, pairing.Pair{
			ID: first.Key, Fixture: fixtures.HashBytes([]byte(first.Key)), Group: first.Group, By: pairing.Replayed, Cell: cell,
		})
		c.list(cell, first, second)
	}
	for i := range candidate.Rows {
		if row := &candidate.Rows[i]; !met[row.Key] && !baseline.doubled[row.content()] {
			c.OnlyCandidate = append(c.OnlyCandidate, candidate.Rows[i].Name)
		}
	}
	if len(pairs) == 0 {
		for _, f := range []*File{baseline, candidate} {
			if len(f.DuplicateRows) > 0 {
				return nil, fmt.Errorf("%s and %s: %w: rows of %s have the same %s and are not paired: %s; leave one of each in the file, or give each its own",
					baseline.Path, candidate.Path, ErrNothingPairs, f.Path, f.known(), shortList(duplicateNames(f)))
			}
		}
		return nil, fmt.Errorf("%s and %s: %w: %q stands in the first alone, %q in the second; are they results of the same tests?",
			baseline.Path, candidate.Path, ErrNothingPairs, firstOf(c.OnlyBaseline), firstOf(c.OnlyCandidate))
	}
	var err error
	if c.Pairs, c.Test, err = analysis.TestPairs(pairs, s); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", baseline.Path, candidate.Path, err)
	}
	c.conclude()
	return c, nil
}

// shortList is the first few of a list.
func shortList(list []string) string {
	const most = 5
	if len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, "; ")
}

func firstOf(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return names[0]
}

// list names a pair that is not concordant.
func (c *Comparison) list(cell pairing.Cell, first, second *Row) {
	p := Pair{Name: first.Name, Group: first.Group, Baseline: first.Score, Candidate: second.Score}
	switch cell {
	case pairing.Loss:
		c.Losses = append(c.Losses, p)
	case pairing.Gain:
		c.Gains = append(c.Gains, p)
	case pairing.Unscored:
		if p.Reason = "baseline: " + first.Reason; first.Answer != fixtures.Unscored {
			p.Reason = "candidate: " + second.Reason
		}
		c.Unscored = append(c.Unscored, p)
	}
}

// Missing counts the keys that say nothing: without a partner, without an outcome on both
// sides, or on several rows. Total counts all keys.
func (c *Comparison) Missing() (missing, total int) {
	apart := len(c.OnlyBaseline) + len(c.OnlyCandidate)
	double := len(c.Baseline.doubled)
	for content := range c.Candidate.doubled {
		if !c.Baseline.doubled[content] {
			double++
		}
	}
	return c.Pairs.Unscored + apart + double, c.Pairs.Total + apart + double
}

// conclude draws the conclusion as a night does: harm that is shown blocks, whatever is
// missing; then it asks whether enough is there to say anything.
func (c *Comparison) conclude() {
	s, t := c.Settings, &c.Test
	missing, total := c.Missing()
	enough := float64(missing) <= s.MaxUnscored*float64(total)
	if !enough {
		c.Why = append(c.Why, fmt.Sprintf("%d of %d keys have no partner, no outcome or several rows, more than %.0f%%", missing, total, 100*s.MaxUnscored))
	}
	switch p := t.P(s); {
	case t.Pairs > 0 && p <= s.Alpha:
		c.Verdict = analysis.Regressed
		c.Why = append(c.Why, fmt.Sprintf("the candidate is worse by more than chance: p %.4g at the level %.4g", p, s.Alpha))
	case !enough || t.Pairs == 0:
		c.Verdict = analysis.Incomplete
		if t.Pairs == 0 {
			c.Why = append(c.Why, "no pair has an outcome on both sides")
		}
	case t.NonInferior:
		c.Verdict = analysis.Clear
		c.Why = append(c.Why, fmt.Sprintf("the candidate is worse by less than the margin of %.3g%%, if at all", 100*s.Margin))
	default:
		c.Verdict = analysis.Inconclusive
		c.Why = append(c.Why, fmt.Sprintf("neither worse by more than chance (p %.4g) nor shown to be worse by less than the margin of %.3g%%", p, 100*s.Margin))
	}
}
