package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Pair is a discordant pair with what its two arms saw and did.
type Pair struct {
	Entry         pairing.Entry
	First, Second PairSide
	// Stated are the messages in which the items were stated, as far as an uncompacted
	// context of the run still holds them, by item.
	Stated map[string]fixtures.Message
}

// PairSide is one arm's part of a pair.
type PairSide struct {
	// Episode is nil where the run has none.
	Episode *replay.Episode
	// Context is what the agent went on from; nil where Missing says why it isn't known.
	Context []fixtures.Message
	Missing string
}

// Pairs reads what a page shows of the discordant pairs of a run. A context that is no
// longer in the run directory is no error; the page says so.
func Pairs(record *replay.Record, queue []pairing.Entry) []Pair {
	var list []Pair
	for _, entry := range queue[:min(len(queue), mostPairs)] {
		p := Pair{Entry: entry, Stated: map[string]fixtures.Message{}}
		p.First, p.Second = pairSide(record, &entry, entry.First), pairSide(record, &entry, entry.Second)
		p.findStated(record)
		list = append(list, p)
	}
	return list
}

func pairSide(record *replay.Record, entry *pairing.Entry, side pairing.Side) PairSide {
	s := PairSide{Episode: record.Episode(replay.Key{Fixture: entry.Fixture, Arm: side.Arm, Replicate: entry.Replicate})}
	s.Context, s.Missing = readContext(record, side.Context)
	return s
}

// readContext reads a context, or says why it can't.
func readContext(record *replay.Record, hash fixtures.Hash) ([]fixtures.Message, string) {
	if hash == "" {
		return nil, "no context: this side is a trace that a person accepted, or nothing was played"
	}
	if record.Contexts == nil {
		return nil, "the contexts of the run are not at hand"
	}
	messages, err := record.Contexts.Get(hash)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Sprintf("the context %s is no longer in the run directory", hash)
	case err != nil:
		return nil, fmt.Sprintf("the context %s in the run directory is damaged", hash)
	}
	return messages, ""
}

// findStated looks for the messages of the items in the contexts that nothing had been
// cut from yet.
func (p *Pair) findStated(record *replay.Record) {
	whole := [][]fixtures.Message{}
	for _, side := range []*PairSide{&p.First, &p.Second} {
		e := side.Episode
		switch {
		case e == nil:
		case len(compactionsBefore(e)) == 0:
			whole = append(whole, side.Context)
		default:
			before, _ := readContext(record, e.Compactions[0].Before)
			whole = append(whole, before)
		}
	}
	for _, item := range p.Entry.Items {
		for _, messages := range whole {
			for i := range messages {
				if m := &messages[i]; m.Turn == item.Turn && m.Holds(item.Literal) {
					if _, ok := p.Stated[item.ID]; !ok {
						p.Stated[item.ID] = *m
					}
				}
			}
		}
	}
}

// compactionsBefore are the compactions up to the fork.
func compactionsBefore(e *replay.Episode) []replay.CompactionRecord {
	for i := range e.Compactions {
		if e.Compactions[i].AfterTurn > e.Fork {
			return e.Compactions[:i]
		}
	}
	return e.Compactions
}

// How much of a pair is shown.
const (
	mostText    = 6_000  // bytes of one text
	mostContext = 80_000 // bytes of one context
	around      = 160    // characters on each side of where an item was stated
	mostInPair  = 60     // items, checks
	rowBytes    = 420    // of markup around a row
	foldFrom    = 2      // so many equal rows are folded
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

func newPairView(number int, r *analysis.Report, d *analysis.Disagreement, pair *Pair, left *room) pairView {
	v := pairView{
		Number: number, ID: Shorten(d.ID, 120), Title: Shorten(d.Title, 300), Cell: string(d.Cell), Tone: cellTone(d.Cell), Turn: d.Turn,
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

func newDetailView(p *Pair, left *room) *detailView {
	d := &detailView{First: Clean(p.Entry.First.Arm), Second: Clean(p.Entry.Second.Arm)}
	d.checks(p, left)
	d.items(p, left)
	// What is left goes to the transcripts and the contexts by halves, so that neither
	// takes the other's.
	transcript := &room{left.left / 2}
	d.rows(p, transcript)
	left.left = left.left/2 + transcript.left
	for i, side := range []*PairSide{&p.First, &p.Second} {
		half := &room{left.left / (2 - i)}
		before := half.left
		d.Contexts = append(d.Contexts, newContextView(p, side, i, half))
		left.left -= before - half.left
	}
	return d
}

func (d *detailView) checks(p *Pair, left *room) {
	second := map[string]fixtures.Result{}
	for _, c := range p.Entry.Second.Outcome.Checks {
		second[c.Check] = c
	}
	var same []checkView
	for _, a := range p.Entry.First.Outcome.Checks {
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

func (d *detailView) items(p *Pair, left *room) {
	for i, item := range p.Entry.Items {
		if i == mostInPair || !left.spend(2*rowBytes) {
			d.ItemsCut = len(p.Entry.Items) - i
			return
		}
		v := itemView{
			Name: Shorten(item.ID, 80), Class: strings.ReplaceAll(string(item.Class), "_", " "), Turn: item.Turn, Literal: Shorten(item.Literal, 500),
			Sides: []answerView{fateView(d.First, item.First, p.First.Episode), fateView(d.Second, item.Second, p.Second.Episode)},
		}
		left.spend(escapedLength(v.Literal))
		if m, ok := p.Stated[item.ID]; ok {
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

// rows lays the transcripts beside each other.
func (d *detailView) rows(p *Pair, left *room) {
	var first, second []replay.Step
	if p.First.Episode != nil {
		first = p.First.Episode.Steps
	}
	if p.Second.Episode != nil {
		second = p.Second.Episode.Steps
	}
	rows := pairing.Align(first, second)
	parts := -1
	if p.Entry.Divergence != nil {
		parts = p.Entry.Divergence.Row(rows)
	}
	for i := 0; i < len(rows); {
		end := i + 1
		if rows[i].Kind == pairing.RowEqual && i != parts {
			for end < len(rows) && rows[end].Kind == pairing.RowEqual && end != parts {
				end++
			}
		}
		if left.left < rowBytes {
			d.RowsCut = len(rows) - i
			return
		}
		v := d.row(rows[i:end], left)
		if i == parts {
			v.Parts = fmt.Sprintf("First divergence, in %s, turn %d", p.Entry.Divergence.Kind, p.Entry.Divergence.Turn)
		}
		d.Rows = append(d.Rows, v)
		i = end
	}
}

// row shows one row that differs, or a stretch of equal ones.
func (d *detailView) row(rows []pairing.Row, left *room) rowView {
	var v rowView
	if first := rows[0]; first.Kind != pairing.RowEqual {
		var marks [2]stretch
		if a, b := first.First, first.Second; a != nil && b != nil && a.Kind == b.Kind {
			marks[0], marks[1] = apart(bodyOf(a), bodyOf(b))
		}
		left.spend(rowBytes)
		v.Sides = []stepView{newStepView(d.First, first.First, left, marks[0]), newStepView(d.Second, first.Second, left, marks[1])}
		return v
	}
	for i, r := range rows {
		if !left.spend(rowBytes) {
			v.Same = append(v.Same, stepView{None: true, Head: fmt.Sprintf("%s more, cut to keep the page small", plural(len(rows)-i, "equal step"))})
			break
		}
		step := newStepView("", r.First, left)
		if r.First.Turn != r.Second.Turn {
			step.Head = fmt.Sprintf("turns %d and %d: %s", r.First.Turn, r.Second.Turn, what(r.First))
		}
		v.Same = append(v.Same, step)
	}
	if len(rows) >= foldFrom {
		v.Fold = fmt.Sprintf("%s the same on both sides, %s", plural(len(rows), "step"), turnSpan(rows))
	}
	return v
}

// turnSpan names the turns of equal rows.
func turnSpan(rows []pairing.Row) string {
	span := func(from, to int) string {
		if from == to {
			return fmt.Sprintf("turn %d", from)
		}
		return fmt.Sprintf("turns %d to %d", from, to)
	}
	last := rows[len(rows)-1]
	first := span(rows[0].First.Turn, last.First.Turn)
	if second := span(rows[0].Second.Turn, last.Second.Turn); second != first {
		return first + " and " + second
	}
	return first
}

func newStepView(arm string, s *replay.Step, left *room, marks ...stretch) stepView {
	if s == nil {
		return stepView{Arm: arm, None: true, Head: "nothing here"}
	}
	v := stepView{Arm: arm, Head: fmt.Sprintf("turn %d: %s", s.Turn, what(s)), Body: left.take(bodyOf(s), mostText, marks...)}
	if s.Kind != replay.StepCall {
		return v
	}
	v.Source = sourceName(s.Source)
	result := left.take(s.Result, mostText/2)
	v.Result = &result
	return v
}

func sourceName(s replay.ToolSource) string {
	switch s {
	case replay.FromTape:
		return "from the tape"
	case replay.FromStub:
		return "from a stub"
	case replay.Miss:
		return "no answer on the tape"
	}
	return Shorten(string(s), 40)
}

// what says who did what in a step.
func what(s *replay.Step) string {
	switch s.Kind {
	case replay.StepUser:
		return "the user says"
	case replay.StepText:
		return "the agent says"
	}
	name := "a tool"
	if s.Call != nil {
		name = Shorten(s.Call.Name, 120)
	}
	return fmt.Sprintf("call %d, %s", s.Number, name)
}

// bodyOf is the text of a step: what was said, or the arguments of the call.
func bodyOf(s *replay.Step) string {
	if s.Kind != replay.StepCall {
		return s.Text
	}
	if s.Call == nil {
		return ""
	}
	return indented(s.Call.Arguments)
}

// indented writes arguments a field a line, in one order.
func indented(arguments json.RawMessage) string {
	canonical := fixtures.CanonicalArguments(arguments)
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(canonical), "", "  "); err != nil {
		return canonical
	}
	return b.String()
}

// newContextView shows the context of a side, the items' literals in it marked.
func newContextView(p *Pair, side *PairSide, i int, left *room) contextView {
	meta := p.Entry.First
	if i == 1 {
		meta = p.Entry.Second
	}
	v := contextView{Arm: Clean(meta.Arm), Missing: side.Missing}
	var literals []string
	for _, item := range p.Entry.Items {
		literals = append(literals, item.Literal)
		verdict := []replay.Verdict{item.First, item.Second}[i]
		if verdict == replay.Absent || verdict == replay.Contradicted || verdict == replay.Stale {
			if len(v.Lost) == mostInPair {
				continue
			}
			line := fmt.Sprintf("%s: %s %s of turn %d: “%s”", verdict, item.Class, item.ID, item.Turn, item.Literal)
			v.Lost = append(v.Lost, Shorten(line, 400))
			left.spend(rowBytes + escapedLength(line))
		}
	}
	compacted := false
	if e := side.Episode; e != nil {
		for i := range e.Compactions {
			v.Compactions = append(v.Compactions, compactionLines(&e.Compactions[i])...)
		}
		compacted = len(compactionsBefore(e)) > 0
	}
	v.Compactions = some(v.Compactions)
	if side.Context == nil {
		v.Summary = "not shown"
		return v
	}
	v.Summary = fmt.Sprintf("%d tokens in %s", meta.Tokens, plural(len(side.Context), "message"))
	most := mostContext
	if !compacted {
		// Nothing was lost in it; what the items are about stands beside them.
		v.Summary += ", not compacted"
		most /= 8
	}
	context := &room{min(most, left.left)}
	before := context.left
	for k := range side.Context {
		if !context.spend(rowBytes) {
			v.Cut = len(side.Context) - k
			break
		}
		text := messageText(&side.Context[k])
		v.Messages = append(v.Messages, messageView{
			Head: messageHead(&side.Context[k]),
			Body: context.take(text, 4*mostText, whereStands(text, literals)...),
		})
	}
	left.left -= before - context.left
	return v
}

// compactionLines say what a compaction did, and which rules it broke.
func compactionLines(c *replay.CompactionRecord) []string {
	line := fmt.Sprintf("compaction %d, after turn %d: %s", c.Index+1, c.AfterTurn, c.Status)
	if c.Status == replay.Compacted {
		line += fmt.Sprintf(", %d tokens before, %d after", c.TokensBefore, c.TokensAfter)
	}
	if c.Reason != "" {
		line += " (" + c.Reason + ")"
	}
	lines := []string{line}
	for _, rule := range c.Rules {
		if !rule.Held {
			lines = append(lines, fmt.Sprintf("breaks %s: %s", rule.Rule, rule.Counter))
		}
	}
	return lines
}

func messageHead(m *fixtures.Message) string {
	head := Shorten(m.Role, 40)
	if m.Turn > 0 {
		head = fmt.Sprintf("%s, turn %d", head, m.Turn)
	}
	return head
}

// messageText is the text of a message with its calls.
func messageText(m *fixtures.Message) string {
	parts := []string{}
	if m.Content != "" {
		parts = append(parts, m.Content)
	}
	for _, call := range m.ToolCalls {
		parts = append(parts, "calls "+call.Name+" "+fixtures.CanonicalArguments(call.Arguments))
	}
	return strings.Join(parts, "\n")
}
