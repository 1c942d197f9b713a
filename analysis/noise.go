package analysis

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Control is the reference played against itself: the noise floor.
type Control struct {
	Pairs *pairing.Table `json:"pairs"`
	// Discordant is the share of scored pairs in which the reference disagrees with
	// itself, Budget the largest tolerable one.
	Discordant *float64 `json:"discordant_share"`
	Budget     float64  `json:"budget"`
	// Valid is false where the reference disagrees with itself beyond the budget.
	Valid bool `json:"valid"`
	// Churn compares how often the candidate disagrees with the reference and how often
	// the reference does with itself; null without a control.
	Churn  *Churn `json:"churn"`
	Reason string `json:"reason,omitempty"`
}

// Churn looks at fixtures that were played as reference (A1), control (A2) and
// candidate (B). McNemar's test cannot see ten losses beside ten gains; this can. If
// the candidate behaves like the reference, A1, A2 and B are exchangeable, and of the
// fixtures where only one of A1/A2 and A1/B disagree each kind is as likely.
type Churn struct {
	Fixtures int `json:"fixtures"`
	// Candidate and Control count the fixtures in which B and A2 disagree with A1.
	Candidate int `json:"candidate_disagrees"`
	Control   int `json:"control_disagrees"`
	// More counts fixtures where only B disagrees with A1, Fewer where only A2 does.
	More  int `json:"more"`
	Fewer int `json:"fewer"`
	// PMore is the exact sign-flip p value over session groups that the candidate
	// disagrees more often than the reference does with itself.
	PMore float64 `json:"p_more"`
	// Excess is the share in which B disagrees less that in which A2 does, with its
	// Tango interval: what is left of the disagreement beyond noise, in either
	// direction.
	Excess *float64 `json:"excess"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Reason string   `json:"reason,omitempty"`
}

// control measures the noise floor.
func (a *analyser) control(candidate string) (Control, error) {
	c := Control{Valid: true, Budget: a.settings.NoiseBudget}
	control := a.record.Arm(RoleControl)
	if control == nil {
		c.Reason = "not run: the embedded provider always gives the same answer to the same request"
		if !a.embedded() {
			c.Reason = "not run: how often the reference disagrees with itself is not known"
		}
		return c, nil
	}
	reference := a.arm(RoleReference)
	m := pairing.Match(a.record, reference, control.Name)
	a.refuseStored(&m)
	table := pairing.Count(m.Pairs, nil)
	c.Pairs = &table
	if table.Scored() == 0 {
		c.Reason = "no control pair has an outcome: how often the reference disagrees with itself is not known"
		for i := range m.Pairs {
			if m.Pairs[i].Cell == pairing.Unscored {
				c.Reason += "; the first of them: " + m.Pairs[i].Reason
				break
			}
		}
		return c, nil
	}
	share := float64(table.Losses+table.Gains) / float64(table.Scored())
	c.Discordant = &share
	c.Valid = share <= c.Budget
	var err error
	c.Churn, err = newChurn(m.Pairs, pairing.Match(a.record, reference, candidate).Pairs, a.settings)
	return c, err
}

// refuseStored takes the outcome from control pairs with an answer that another run had
// paid for: a stored answer agrees with itself by construction. One that was asked for
// afresh and is read back, as where a night is played again from the store alone, is an
// answer of its own.
func (a *analyser) refuseStored(m *pairing.Matching) {
	stored := 0
	for i := range m.Pairs {
		p := &m.Pairs[i]
		e := a.record.Episode(replay.Key{Fixture: p.Fixture, Arm: p.Second.Arm, Replicate: p.Replicate})
		for _, x := range e.Exchanges {
			if x.Stored && !x.Fresh {
				p.Cell, p.Reason = pairing.Unscored, "the control was answered from a store"
				stored++
				break
			}
		}
	}
	if stored > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%d control episodes hold stored answers and count for nothing: a control must be asked afresh", stored))
	}
}

// newChurn compares the pairs of reference and control with those of reference and
// candidate.
func newChurn(control, candidate []pairing.Pair, s Settings) (*Churn, error) {
	other := map[fixtures.Hash]*pairing.Pair{}
	for i := range candidate {
		other[candidate[i].Fixture] = &candidate[i]
	}
	churn := &Churn{}
	groups := map[string]stats.Cluster{}
	for i := range control {
		a := &control[i]
		b := other[a.Fixture]
		if b == nil || !a.Cell.Scored() || !b.Cell.Scored() || !isReplayed(a) || !isReplayed(b) {
			continue
		}
		g := groups[a.Group]
		g.Pairs++
		churn.Fixtures++
		noise, differs := a.Cell.Discordant(), b.Cell.Discordant()
		if noise {
			churn.Control++
		}
		if differs {
			churn.Candidate++
		}
		switch {
		case differs && !noise:
			churn.More++
			g.Losses++
		case noise && !differs:
			churn.Fewer++
			g.Gains++
		}
		groups[a.Group] = g
	}
	var list []stats.Cluster
	for _, g := range groups {
		list = append(list, g)
	}
	flip, err := stats.SignFlip(list)
	if err != nil {
		return nil, fmt.Errorf("churn: %w", err)
	}
	churn.PMore = flip.PWorse
	excess, err := stats.TangoInterval(churn.More, churn.Fewer, churn.Fixtures, s.Confidence)
	if err == nil && clustered(list) {
		excess, err = sessionInterval(list, s.Confidence)
	}
	if err != nil {
		return nil, fmt.Errorf("churn: %w", err)
	}
	churn.Excess, churn.Reason = excess.Value, excess.Reason
	if excess.Interval != nil {
		churn.Low, churn.High = &excess.Interval.Low, &excess.Interval.High
	}
	return churn, nil
}
