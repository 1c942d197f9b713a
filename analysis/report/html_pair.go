package report

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// How much of a pair is shown.
const (
	mostText    = 6_000  // bytes of one text
	mostContext = 80_000 // bytes of one context
	around      = 160    // characters on each side of where an item was stated
	mostInPair  = 60     // items, checks
	rowBytes    = 420    // of markup around a row
	foldFrom    = 800    // characters of a single equal step that is folded
)

// pairView is one disagreement.
type pairView struct {
	Number    int
	ID, Title string
	Cell      string
	Tone      tone
	Labels    []string
	Lost      []string
	Turn      int
	// Did is what each side did where they part, in short.
	Did      [2]sideText
	Evidence []string
	// Detail is nil where only the short form is known.
	Detail *detailView
}

type sideText struct{ Arm, Text string }

type detailView struct {
	First, Second string
	Rows          []rowView
	RowsCut       int
	Checks        []checkView
	ChecksCut     int
	Items         []itemView
	ItemsCut      int
	Contexts      []contextView
}

// rowView is a row of the two transcripts.
type rowView struct {
	// Parts marks the first divergence.
	Parts string
	// Same are steps that both sides did, folded under Fold where that is set.
	Same []stepView
	Fold string
	// Sides are the steps of the two sides where they differ.
	Sides []stepView
}

type stepView struct {
	Arm string
	// None says that the side has nothing here.
	None   bool
	Head   string
	Body   excerpt
	Source string
	Result *excerpt
}

type checkView struct {
	ID, Item string
	Differs  bool
	Sides    []answerView
}

type answerView struct {
	Arm, Answer, Evidence string
	Tone                  tone
}

type itemView struct {
	Name, Class string
	Turn        int
	Literal     string
	Stated      *excerpt
	StatedBy    string
	Sides       []answerView
}

type contextView struct {
	Arm, Missing string
	Summary      string
	Compactions  []string
	Lost         []string
	Messages     []messageView
	Cut          int
}

type messageView struct {
	Head string
	Body excerpt
}

func newPairView(number int, r *analysis.Report, d *analysis.Disagreement, pair *pairOf, left *room) pairView {
	v := pairView{
		Number: number, ID: Shorten(d.ID, 120), Title: Shorten(d.Title, 300), Cell: cellWord(d.Critical, d.Cell), Tone: cellTone(d.Cell), Turn: d.Turn,
	}
	if d.By == pairing.Accepted {
		v.Labels = append(v.Labels, "against an accepted trace")
	}
	if c := d.Confirmed; c != nil {
		v.Labels = append(v.Labels, fmt.Sprintf("%s: the same in %d of %d further plays", c.Label, c.Same, c.Plays))
	}
	for i, item := range d.Items {
		if i == 12 {
			v.Lost = append(v.Lost, fmt.Sprintf("and %d more items", len(d.Items)-i))
			break
		}
		v.Lost = append(v.Lost, Shorten(fate(r, item), 400))
	}
	if d.Turn > 0 {
		baseline, candidate := excerpts(d.Baseline, d.Candidate, 300)
		v.Did = [2]sideText{{Clean(r.Baseline), baseline}, {Clean(r.Candidate), candidate}}
	}
	if pair != nil {
		v.Detail = newDetailView(pair, left)
		return v
	}
	for i, check := range d.Checks {
		if i == 12 {
			break
		}
		v.Evidence = append(v.Evidence, Shorten(check, 300))
	}
	return v
}

func newDetailView(p *pairOf, left *room) *detailView {
	d := &detailView{First: p.sides[0].arm, Second: p.sides[1].arm}
	d.checks(p, left)
	d.items(p, left)
	// What is left goes to the transcripts and the contexts by halves, so that neither
	// takes the other's.
	transcript := &room{left.left / 2}
	d.rows(p, transcript)
	left.left = left.left/2 + transcript.left
	for i := range p.sides {
		half := &room{left.left / (2 - i)}
		before := half.left
		d.Contexts = append(d.Contexts, newContextView(p, i, half))
		left.left -= before - half.left
	}
	return d
}

func (d *detailView) checks(p *pairOf, left *room) {
	second := map[string]fixtures.Result{}
	for _, c := range p.Second.Outcome.Checks {
		second[c.Check] = c
	}
	var same []checkView
	for _, a := range p.First.Outcome.Checks {
		b := second[a.Check]
		c := checkView{ID: Shorten(a.Check, 80), Item: Shorten(a.Item, 80), Differs: a.Answer != b.Answer, Sides: []answerView{
			newAnswerView(d.First, a), newAnswerView(d.Second, b),
		}}
		if c.Differs {
			d.Checks = append(d.Checks, c)
		} else {
			same = append(same, c)
		}
	}
	d.Checks = append(d.Checks, same...)
	for i, c := range d.Checks {
		if i == mostInPair || !left.spend(rowBytes+escapedLength(c.Sides[0].Evidence+c.Sides[1].Evidence)) {
			d.ChecksCut = len(d.Checks) - i
			d.Checks = d.Checks[:i]
			return
		}
	}
}

func newAnswerView(arm string, r fixtures.Result) answerView {
	v := answerView{Arm: arm, Answer: string(r.Answer), Evidence: Shorten(r.Evidence, 500), Tone: quiet}
	switch r.Answer {
	case fixtures.Pass:
		v.Tone = good
	case fixtures.Fail:
		v.Tone = bad
	case "":
		v.Answer = "not asked"
	}
	return v
}

func (d *detailView) items(p *pairOf, left *room) {
	for i, item := range p.Items {
		if i == mostInPair || !left.spend(2*rowBytes) {
			d.ItemsCut = len(p.Items) - i
			return
		}
		v := itemView{
			Name: Shorten(item.ID, 80), Class: strings.ReplaceAll(string(item.Class), "_", " "), Turn: item.Turn, Literal: Shorten(item.Literal, 500),
			Sides: []answerView{fateView(d.First, item.First, p.sides[0].episode), fateView(d.Second, item.Second, p.sides[1].episode)},
		}
		left.spend(escapedLength(v.Literal))
		if m := p.stated[item.ID]; m != nil {
			if text, mark, ok := statedIn(m.Content, item.Literal); ok {
				stated := left.take(text, mostText, mark)
				v.Stated, v.StatedBy = &stated, m.Role
			}
		}
		d.Items = append(d.Items, v)
	}
}

// statedIn cuts a message to where an item stands in it.
func statedIn(content, literal string) (string, stretch, bool) {
	i := strings.Index(content, literal)
	if i < 0 || literal == "" {
		return "", stretch{}, false
	}
	before, after := []rune(content[:i]), []rune(content[i+len(literal):])
	start, end := "", ""
	if len(before) > around {
		start, before = "… ", before[len(before)-around:]
	}
	if len(after) > around {
		end, after = " …", after[:around]
	}
	head := start + string(before)
	return head + literal + string(after) + end, stretch{len(head), len(head) + len(literal)}, true
}

func fateView(arm string, v replay.Verdict, e *replay.Episode) answerView {
	a := answerView{Arm: arm, Answer: string(v), Tone: quiet}
	switch v {
	case replay.Verbatim, replay.Supported, replay.Retired:
		a.Tone = good
	case replay.Absent, replay.Contradicted, replay.Stale:
		a.Tone = bad
	case "":
		a.Answer = "not judged"
		if e != nil && len(compactionsBefore(e)) == 0 {
			a.Answer = "not compacted"
		}
	}
	return a
}
