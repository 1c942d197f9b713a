package review

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// pairAnswer is a pair opened. Sides, the answers of the checks, what became of the items,
// and what an earlier night ruled are empty before the reviewer has seen which side is
// which; Verdicts before they have ruled.
type pairAnswer struct {
	Row      queueRow `json:"row"`
	Blind    bool     `json:"blind"` // the sides are not named yet
	Choices  []choice `json:"choices"`
	Disputed bool     `json:"disputed"`
	Progress progress `json:"progress"`

	Divergence *divergenceView    `json:"divergence"`
	Checks     []checkView        `json:"checks"`
	Items      []itemView         `json:"items"`
	Transcript []segment[rowView] `json:"transcript"`

	Remembered *verdictView  `json:"remembered"`
	Mine       *verdictView  `json:"mine"`
	Verdicts   []verdictView `json:"verdicts"`
	Stale      []verdictView `json:"stale"`
	Sides      *sidesView    `json:"sides"`
	// Last is the number in the log of the reviewer's last line on the pair, 0 without any.
	Last int `json:"last"`
	// Undone is the verdict that was just taken back.
	Undone *verdictView `json:"undone,omitempty"`
}

type divergenceView struct {
	Kind  pairing.DivergenceKind `json:"kind"`
	Turn  int                    `json:"turn"`
	Left  *cell                  `json:"left"`
	Right *cell                  `json:"right"`
}

type checkView struct {
	ID      string     `json:"id"`
	Check   string     `json:"check"` // the id, fit to be shown
	Item    string     `json:"item,omitempty"`
	Asks    string     `json:"asks"`
	Differs bool       `json:"differs"`
	Left    answerView `json:"left"`
	Right   answerView `json:"right"`
}

// answerView is what a check found on a side. Without an answer the evidence is what the
// check looks at.
type answerView struct {
	Answer   fixtures.Answer `json:"answer,omitempty"`
	Evidence []piece         `json:"evidence"`
}

type itemView struct {
	ID      string         `json:"id"`
	Class   fixtures.Class `json:"class"`
	Turn    int            `json:"turn"`
	Literal string         `json:"literal"`
	Status  string         `json:"status,omitempty"`
	// Fates say what became of it, by the compactions of either side.
	Fates []fateView `json:"fates,omitempty"`
}

type fateView struct {
	AfterTurn int            `json:"after_turn"`
	Left      replay.Verdict `json:"left,omitempty"`
	Right     replay.Verdict `json:"right,omitempty"`
}

type verdictView struct {
	Run      string           `json:"run,omitempty"`
	By       string           `json:"by,omitempty"`
	Choice   string           `json:"choice"`
	Ruling   pairing.Ruling   `json:"ruling,omitempty"`
	Severity pairing.Severity `json:"severity,omitempty"`
	Note     string           `json:"note,omitempty"`
	Checks   []string         `json:"checks,omitempty"`
	// Remains says why the pair is what it was though checks are ruled wrong.
	Remains string    `json:"remains,omitempty"`
	At      time.Time `json:"at"`
	Blind   bool      `json:"blind"`
	Settles bool      `json:"settles,omitempty"`
	Mine    bool      `json:"mine,omitempty"`
	// Why says what has changed since a verdict that is stale.
	Why string `json:"why,omitempty"`
}

type sidesView struct {
	Cell      pairing.Cell `json:"cell"`
	Candidate side         `json:"candidate"`
	Left      armView      `json:"left"`
	Right     armView      `json:"right"`
}

// armView is what gives an arm away: its name, sizes and costs.
type armView struct {
	Arm           string               `json:"arm"`
	Compactor     string               `json:"compactor,omitempty"`
	Status        replay.EpisodeStatus `json:"status"`
	End           replay.EndReason     `json:"end,omitempty"`
	PrefixTokens  int                  `json:"prefix_tokens"`
	ContextTokens int                  `json:"context_tokens"`
	Compactions   []compactionView     `json:"compactions"`
	Requests      int                  `json:"requests"`
	Prompt        int                  `json:"prompt_tokens"`
	Completion    int                  `json:"completion_tokens"`
	CostUSD       *float64             `json:"cost_usd"` // nil where a price is not known
}

type compactionView struct {
	AfterTurn int                     `json:"after_turn"`
	Status    replay.CompactionStatus `json:"status"`
	Before    int                     `json:"tokens_before"`
	After     int                     `json:"tokens_after"`
}

func (s *desk) getPair(r *http.Request) (any, error) {
	defer s.enter()()
	i, err := s.find(r.URL.Query().Get("pair"))
	if err != nil {
		return nil, err
	}
	return s.pair(i)
}

// find is the place in the queue of a pair, as it is called on a page or by its name.
func (s *desk) find(pair string) (int, error) {
	if i, ok := s.called[pair]; ok {
		return i, nil
	}
	i, err := pairing.FindPair(s.options.Review.Record.Run.ID, s.options.Review.Queue, pair)
	if err != nil {
		return 0, fault(http.StatusNotFound, "%w", err)
	}
	return i, nil
}

func (s *desk) pair(i int) (*pairAnswer, error) {
	e, standing := &s.options.Review.Queue[i], &s.standings[i]
	if err := s.named(e.ID); err != nil {
		return nil, err
	}
	t := s.transcript(e)
	a := &pairAnswer{
		Row: s.row(i), Blind: !s.seen(e.ID), Choices: choices(s.options.Blind), Disputed: standing.State == pairing.Disputed, Progress: s.progress(), Last: s.last(e.ID),
		Checks: s.checks(e), Items: s.items(e), Transcript: t.folded(),
	}
	if d := e.Divergence; d != nil {
		a.Divergence = &divergenceView{Kind: d.Kind, Turn: d.Turn}
		a.Divergence.Left, a.Divergence.Right = t.partingCells(d, s.swapped(e))
	}
	if v := s.mine(i); v != nil {
		view := s.verdict(e, v)
		a.Mine = &view
	}
	if m, ok := s.options.Remembered[e.ID]; ok {
		var view verdictView
		if !a.Blind { // what somebody ruled would lead, and what they noted may name an arm
			view = s.verdict(e, &m.Verdict)
		}
		view.Run = visible(m.Run)
		a.Remembered = &view
	}
	a.Stale = s.stale(e, standing.Stale)
	if a.Blind {
		return a, nil
	}
	for k := range standing.Verdicts {
		if a.Mine == nil {
			break // what others ruled is shown to who has ruled: else theirs would follow it
		}
		a.Verdicts = append(a.Verdicts, s.verdict(e, &standing.Verdicts[k]))
	}
	a.Sides = &sidesView{Cell: e.Cell, Candidate: right, Left: s.arm(e, e.First.Arm), Right: s.arm(e, e.Second.Arm)}
	if s.swapped(e) {
		a.Sides.Candidate, a.Sides.Left, a.Sides.Right = left, a.Sides.Right, a.Sides.Left
	}
	return a, nil
}

func (s *desk) verdict(e *pairing.Entry, v *pairing.Verdict) verdictView {
	return verdictView{
		By: visible(v.By), Choice: s.words(chosen(v.Ruling, s.swapped(e))), Ruling: v.Ruling, Severity: v.Severity,
		Note: visible(v.Note), Checks: visibles(v.Checks), At: v.At, Blind: v.Blind, Settles: v.Adjudicates,
		Mine: pairing.SameReviewer(v.By, s.reviewer), Remains: e.Remains(v.Ruling, v.Checks),
	}
}

// handle is what a pair is called on a page.
func (s *desk) handle(e *pairing.Entry) string { return s.handles[s.index[e.ID]] }

// visibles are texts that are fit to be shown.
func visibles(texts []string) []string {
	var list []string
	for _, text := range texts {
		list = append(list, visible(text))
	}
	return list
}

// stale are verdicts on evidence that has changed, with what has.
func (s *desk) stale(e *pairing.Entry, verdicts []pairing.Verdict) []verdictView {
	if len(verdicts) == 0 {
		return nil
	}
	now := pairing.EvidenceNow(s.options.Review.Record, &e.Pair)
	var list []verdictView
	for k := range verdicts {
		v := &verdicts[k]
		var view verdictView
		if s.seen(e.ID) && (s.mine(s.index[e.ID]) != nil || pairing.SameReviewer(v.By, s.reviewer)) {
			view = s.verdict(e, v)
		}
		fixture, onLeft, onRight := v.Evidence.Changed(now)
		if s.swapped(e) {
			onLeft, onRight = onRight, onLeft
		}
		var parts []string
		for _, part := range []struct {
			changed bool
			what    string
		}{{fixture, "the fixture"}, {onLeft, "what the left side did"}, {onRight, "what the right side did"}} {
			if part.changed {
				parts = append(parts, part.what)
			}
		}
		view.Why = strings.Join(parts, " and ") + " is not what it was"
		list = append(list, view)
	}
	return list
}

// partingCells are the steps in which two episodes part. The divergence of an entry may
// have been read back from a file: what is shown are the steps of the episodes.
func (t *transcript) partingCells(d *pairing.Divergence, swap bool) (left, right *cell) {
	a, b := d.First, d.Second
	if swap {
		a, b = b, a
	}
	return t.cells(own(t.left, a), own(t.right, b))
}

// own is the step of an episode that is the same as another one.
func own(steps []replay.Step, s *replay.Step) *replay.Step {
	if s == nil {
		return nil
	}
	for i := range steps {
		if o := &steps[i]; o.Kind == s.Kind && o.Turn == s.Turn && o.Number == s.Number && o.Text == s.Text {
			return o
		}
	}
	return nil
}

// checks are those of the pair's fixture, the ones that differ first.
func (s *desk) checks(e *pairing.Entry) []checkView {
	asks := map[string]fixtures.Check{}
	if f := s.options.Review.Record.Fixture(e.Fixture); f != nil {
		for _, c := range pairing.Checks(f) {
			asks[c.ID] = c
		}
	}
	seen := s.seen(e.ID)
	list := []checkView{}
	for _, a := range e.First.Outcome.Checks {
		for _, b := range e.Second.Outcome.Checks {
			if a.Check != b.Check {
				continue
			}
			check, known := asks[a.Check]
			v := checkView{ID: a.Check, Check: visible(a.Check), Item: visible(a.Item), Differs: a.Answer != b.Answer}
			if known {
				v.Asks = brief(asked(&check), longestLiteral)
			}
			if seen {
				v.Left, v.Right = answer(a), answer(b)
			} else {
				v.Left, v.Right = lookedAt(&check, s.steps(e, e.First.Arm)), lookedAt(&check, s.steps(e, e.Second.Arm))
			}
			if s.swapped(e) {
				v.Left, v.Right = v.Right, v.Left
			}
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list, func(a, b checkView) int { return cmp.Compare(order(a.Differs), order(b.Differs)) })
	return list
}

func order(first bool) int {
	if first {
		return 0
	}
	return 1
}

func asked(c *fixtures.Check) string {
	switch {
	case c.Never != "":
		return "never: " + c.Never
	case c.Must != "":
		return "must: " + c.Must
	case c.Final != "":
		return "final text: " + c.Final
	}
	return "the same calls as the reference"
}

const longestEvidence = 1200 // bytes

func answer(r fixtures.Result) answerView {
	return answerView{r.Answer, []piece{{Text: brief(r.Evidence, longestEvidence)}}}
}

const longestLiteral = 2000 // bytes

// items are those of the pair's fixture, with what became of them where the sides are
// named: a side that compacts shows by that which one it is.
func (s *desk) items(e *pairing.Entry) []itemView {
	list := []itemView{}
	f := s.options.Review.Record.Fixture(e.Fixture)
	named := s.seen(e.ID)
	for _, item := range e.Items {
		v := itemView{ID: visible(item.ID), Class: item.Class, Turn: item.Turn, Literal: brief(item.Literal, longestLiteral)}
		if f != nil {
			if i := f.Item(item.ID); i != nil && i.SupersededBy != "" {
				v.Status = "superseded by " + visible(i.SupersededBy)
			} else if i != nil {
				v.Status = visible(string(i.Status))
			}
		}
		if named {
			v.Fates = s.fates(e, item.ID)
		}
		list = append(list, v)
	}
	return list
}

// fates are the verdicts on an item at each compaction of either side.
func (s *desk) fates(e *pairing.Entry, item string) []fateView {
	byTurn := map[int]fateView{}
	for k, arm := range []string{e.First.Arm, e.Second.Arm} {
		episode := s.episode(e, arm)
		if episode == nil {
			continue
		}
		for _, c := range episode.Compactions {
			j := s.judgements[replay.DecisionKey{Key: episode.Key, Compaction: c.Index, Item: item}]
			if j == "" {
				continue
			}
			f := byTurn[c.AfterTurn]
			f.AfterTurn = c.AfterTurn
			if (k == 0) != s.swapped(e) {
				f.Left = j
			} else {
				f.Right = j
			}
			byTurn[c.AfterTurn] = f
		}
	}
	var list []fateView
	for _, turn := range slices.Sorted(maps.Keys(byTurn)) {
		list = append(list, byTurn[turn])
	}
	return list
}

func (s *desk) arm(e *pairing.Entry, name string) armView {
	v := armView{Arm: visible(name), Compactions: []compactionView{}}
	for _, a := range s.options.Review.Record.Run.Plan.Arms {
		if a.Name == name {
			v.Compactor = visible(a.Compactor)
		}
	}
	episode := s.episode(e, name)
	if episode == nil {
		return v
	}
	v.Status, v.End, v.PrefixTokens, v.ContextTokens = episode.Status, episode.End, episode.PrefixTokens, episode.ContextTokens
	for _, c := range episode.Compactions {
		v.Compactions = append(v.Compactions, compactionView{c.AfterTurn, c.Status, c.TokensBefore, c.TokensAfter})
	}
	cost, known := 0.0, len(episode.Exchanges) > 0
	for _, x := range episode.Exchanges {
		v.Requests++
		v.Prompt += x.Usage.PromptTokens
		v.Completion += x.Usage.CompletionTokens
		if x.CostUSD == nil {
			known = false
		} else {
			cost += *x.CostUSD
		}
	}
	if known {
		v.CostUSD = &cost
	}
	return v
}
