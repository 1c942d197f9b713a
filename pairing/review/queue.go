package review

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
)

// queueRow is a pair in the list. What would say which side is which is left empty
// before the reviewer has seen it.
type queueRow struct {
	// ID is the pair's handle: its name would tell what goes wrong there.
	ID string `json:"id"`
	// Name is the name, fit to be shown, or before that "pair 7" by its place in the queue.
	Name  string        `json:"name"`
	Group string        `json:"group,omitempty"` // a name, too
	Label pairing.Label `json:"label,omitempty"`
	// State is undecided before the reviewer has seen which side is which, unless others
	// dispute the pair; Ruling is empty before they have ruled themselves.
	State pairing.State `json:"state"`
	// Open says that the reviewer has still to decide it.
	Open bool `json:"open"`
	// Assigned says that the queue was shared out and that the pair is the reviewer's.
	Assigned bool `json:"assigned,omitempty"`
	// Mine is what the reviewer chose, in the words of the page.
	Mine       string `json:"mine,omitempty"`
	Remembered string `json:"remembered,omitempty"` // the run of the earlier verdict
	Stale      bool   `json:"stale,omitempty"`      // a verdict rests on evidence that has changed

	Title   string           `json:"title,omitempty"` // of the fixture: it tells what goes wrong there
	Cell    pairing.Cell     `json:"cell,omitempty"`
	Ruling  pairing.Ruling   `json:"ruling,omitempty"`
	Classes []fixtures.Class `json:"classes"` // of the items that were lost
}

// progress is how far the reviewer is.
type progress struct {
	Total   int `json:"total"`   // pairs in the queue
	Decided int `json:"decided"` // by the reviewer
	Open    int `json:"open"`
	// Time is how long the open ones will take, by how long earlier verdicts took.
	Time pairing.TimeLeft `json:"time"`
}

type queueAnswer struct {
	Rows     []queueRow `json:"rows"`
	From     int        `json:"from"`
	Matching int        `json:"matching"`
	Progress progress   `json:"progress"`
}

const longestName, longestTitle = 120, 300 // bytes

// listed is how many pairs come with one request.
const listed = 100

func (s *desk) getQueue(r *http.Request) (any, error) {
	defer s.enter()()
	query := r.URL.Query()
	keep, err := s.filter(query)
	if err != nil {
		return nil, err
	}
	from, err := number(query, "from")
	if err != nil {
		return nil, err
	}
	a := queueAnswer{Rows: []queueRow{}, From: from, Progress: s.progress()}
	for _, i := range s.order {
		row := s.row(i)
		if !keep(&row) {
			continue
		}
		if a.Matching >= from && len(a.Rows) < listed {
			a.Rows = append(a.Rows, row)
		}
		a.Matching++
	}
	return a, nil
}

// getNext finds the next open pair after one, under the same filters and in the same order
// as the list; after the last comes the first.
func (s *desk) getNext(r *http.Request) (any, error) {
	defer s.enter()()
	query := r.URL.Query()
	keep, err := s.filter(query)
	if err != nil {
		return nil, err
	}
	n := len(s.order)
	i, err := s.find(query.Get("after"))
	known := err == nil
	at := n - 1
	if known {
		at = s.place[i]
	}
	step := 1
	if query.Get("back") != "" {
		step = n - 1
		if !known {
			at = 0
		}
	}
	// With "any", pairs that are decided are next ones, too.
	every := query.Get("any") != ""
	for k := 1; k <= n; k++ {
		other := s.order[(at+k*step)%n]
		row := s.row(other)
		if !(known && other == i) && (every || row.Open) && keep(&row) {
			return map[string]any{"id": row.ID}, nil
		}
	}
	return map[string]any{"id": nil}, nil
}

// row is a pair in the list as the reviewer may see it.
func (s *desk) row(i int) queueRow {
	e, standing := &s.options.Review.Queue[i], &s.standings[i]
	row := queueRow{ID: s.handles[i], Name: fmt.Sprintf("pair %d", i+1), Classes: []fixtures.Class{}, State: pairing.Undecided, Stale: len(standing.Stale) > 0, Assigned: s.theirs(e.ID)}
	if standing.State == pairing.Disputed { // somebody has to know where to settle
		row.State = pairing.Disputed
	}
	if e.Confirmed != nil {
		row.Label = e.Confirmed.Label
	}
	if v := s.mine(i); v != nil {
		row.Mine = s.words(chosen(v.Ruling, s.swapped(e)))
	} else if m, ok := s.options.Remembered[e.ID]; ok {
		row.Remembered = visible(m.Run)
	}
	row.Open = s.open(i)
	if s.seen(e.ID) {
		row.State, row.Cell = standing.State, e.Cell
		if s.mine(i) != nil {
			row.Ruling = standing.Ruling
		}
		row.Name, row.Group, row.Title = brief(e.ID, longestName), brief(e.Group, longestName), brief(e.Title, longestTitle)
		for _, item := range e.Items {
			if item.Lost() && !slices.Contains(row.Classes, item.Class) {
				row.Classes = append(row.Classes, item.Class)
			}
		}
	}
	return row
}

// words is the label of a choice.
func (s *desk) words(value string) string {
	for _, c := range choices(s.options.Blind) {
		if c.Value == value {
			return c.Label
		}
	}
	return value
}

// mine is the reviewer's verdict that stands on a pair, or nil.
func (s *desk) mine(i int) *pairing.Verdict {
	for k := range s.standings[i].Verdicts {
		if v := &s.standings[i].Verdicts[k]; pairing.SameReviewer(v.By, s.reviewer) {
			return v
		}
	}
	return nil
}

// theirs says whether a pair is assigned to the reviewer.
func (s *desk) theirs(pair string) bool {
	return slices.ContainsFunc(s.options.Assigned[pair], func(name string) bool { return pairing.SameReviewer(name, s.reviewer) })
}

// open says whether the reviewer has still to decide a pair: one that is theirs by
// assignment, and, for somebody to whom nothing is assigned, one that nobody has decided,
// or on which others do not agree.
func (s *desk) open(i int) bool {
	if s.mine(i) != nil {
		return false
	}
	if s.assigned {
		return s.theirs(s.options.Review.Queue[i].ID)
	}
	return s.standings[i].State != pairing.Decided
}

// seen says whether the reviewer knows which side of a pair is which: always where the
// page names the sides, else once a line of theirs on it stands in the log, or once they
// saw the arms named in another way.
func (s *desk) seen(pair string) bool {
	return !s.options.Blind || s.options.Review.Seen(s.reviewer, pair)
}

// named records, where the page names the sides, that the reviewer saw those of a pair.
func (s *desk) named(pair string) error {
	if s.options.Blind {
		return nil
	}
	return s.options.Review.Unblind(s.reviewer, pair, pairing.UnblindedOnPage)
}

func (s *desk) swapped(e *pairing.Entry) bool {
	return s.options.Blind && pairing.Swapped(s.options.Review.Record.Run.ID, s.reviewer, e.ID)
}

func (s *desk) progress() progress {
	p := progress{Total: len(s.options.Review.Queue)}
	for i := range s.options.Review.Queue {
		switch {
		case s.mine(i) != nil:
			p.Decided++
		case s.open(i):
			p.Open++
		}
	}
	p.Time = pairing.EstimateTime(s.options.Review.Verdicts, p.Open)
	return p
}

// filter is which pairs a query asks for.
func (s *desk) filter(query url.Values) (func(*queueRow) bool, error) {
	state, cell, label := query.Get("state"), pairing.Cell(query.Get("cell")), pairing.Label(query.Get("label"))
	class, find := fixtures.Class(query.Get("class")), strings.ToLower(query.Get("find"))
	switch {
	case !slices.Contains([]string{"", "open", "undecided", "decided", "disputed", "remembered"}, state):
		return nil, fault(http.StatusBadRequest, "no state %q", state)
	case cell != "" && !cell.Discordant():
		return nil, fault(http.StatusBadRequest, "no cell %q", cell)
	case label != "" && label != pairing.Stable && label != pairing.Flaky:
		return nil, fault(http.StatusBadRequest, "no label %q", label)
	case class != "" && !slices.Contains(fixtures.Classes(), class):
		return nil, fault(http.StatusBadRequest, "no class %q", class)
	}
	return func(row *queueRow) bool {
		switch {
		case cell != "" && row.Cell != cell,
			label != "" && row.Label != label,
			class != "" && !slices.Contains(row.Classes, class):
			return false
		case find != "" && !strings.Contains(strings.ToLower(row.Group), find) && !strings.Contains(strings.ToLower(row.Name), find) && !strings.Contains(strings.ToLower(row.Title), find):
			return false
		}
		switch state {
		case "":
			return true
		case "open":
			return row.Open
		case "remembered":
			return row.Remembered != ""
		}
		return string(row.State) == state
	}, nil
}

// number reads a whole number, not negative, of a query; 0 where there is none.
func number(query url.Values, name string) (int, error) {
	text := query.Get(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fault(http.StatusBadRequest, "%s=%q: want a number", name, text)
	}
	return n, nil
}
