package review

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// recorded is the column of the whole conversation up to the fork.
const recorded side = "recorded"

// lostView is an item that is not where it should be.
type lostView struct {
	ID      string         `json:"id"`
	Verdict replay.Verdict `json:"verdict"`
	Literal string         `json:"literal"`
}

// contextAnswer is two contexts beside each other.
type contextAnswer struct {
	Left     column             `json:"left"`
	Right    column             `json:"right"`
	Items    []contextItem      `json:"items"`
	Segments []segment[rowView] `json:"segments"`
}

type column struct {
	Side     side   `json:"side"`
	Messages int    `json:"messages"`
	Bytes    int    `json:"bytes"`
	Missing  string `json:"missing,omitempty"` // why there is nothing
}

type contextItem struct {
	ID      string         `json:"id"`
	Class   fixtures.Class `json:"class"`
	Turn    int            `json:"turn"`
	Literal string         `json:"literal"`
	Left    string         `json:"left"`
	Right   string         `json:"right"`
}

// contextRow is one row of a comparison: a message of either side, -1 for none.
type contextRow struct {
	kind        string
	left, right int
}

// comparison is two contexts, message by message.
type comparison struct {
	server      *desk
	entry       *pairing.Entry
	sides       [2]side
	columns     [2][]fixtures.Message
	missing     [2]string
	rows        []contextRow
	marks       [2]map[int][]mark
	lost        map[int][]lostView // by the row; what the right column lacks
	lostOnLeft  map[int][]lostView
	contextItem []contextItem
}

func (s *desk) getContext(r *http.Request) (any, error) {
	defer s.enter()()
	c, err := s.comparison(r.URL.Query())
	if err != nil {
		return nil, err
	}
	return contextAnswer{Left: c.column(0), Right: c.column(1), Items: c.contextItem, Segments: c.folded()}, nil
}

// comparison lays the contexts beside each other that a query names.
func (s *desk) comparison(query url.Values) (*comparison, error) {
	i, err := s.find(query.Get("pair"))
	if err != nil {
		return nil, err
	}
	e := &s.options.Review.Queue[i]
	if !s.seen(e.ID) {
		return nil, fault(http.StatusForbidden, "the contexts show which side was compacted: decide first, or end the blindness of this pair")
	}
	c := &comparison{server: s, entry: e, lost: map[int][]lostView{}, lostOnLeft: map[int][]lostView{}}
	for k, name := range []string{"a", "b"} {
		c.sides[k] = side(query.Get(name))
		if !slices.Contains([]side{recorded, left, right}, c.sides[k]) {
			return nil, fault(http.StatusBadRequest, "%s=%q: want recorded, left or right", name, query.Get(name))
		}
		if c.columns[k], c.missing[k], err = s.messages(e, c.sides[k]); err != nil {
			return nil, err
		}
	}
	c.rows = compareContexts(c.columns[0], c.columns[1])
	c.items()
	return c, nil
}

// messages are what a column shows, or why it shows nothing.
func (s *desk) messages(e *pairing.Entry, of side) (list []fixtures.Message, missing string, err error) {
	if of == recorded {
		list, err = s.recorded(e)
		if err == nil && list == nil {
			missing = "the run did not keep the whole conversation"
		}
		return list, missing, err
	}
	episode := s.episode(e, s.armOn(e, of))
	if episode == nil || episode.Context == "" {
		return nil, "this side made no context: a person accepted what it did", nil
	}
	list, err = s.context(episode.Context)
	return list, "", err
}

// armOn is the arm that stands on a side.
func (s *desk) armOn(e *pairing.Entry, of side) string {
	if (of == left) != s.swapped(e) {
		return e.First.Arm
	}
	return e.Second.Arm
}

// recorded is the conversation up to the fork, as far as the run kept it: from an arm
// that compacted nothing, else put together from what stood before each compaction.
func (s *desk) recorded(e *pairing.Entry) ([]fixtures.Message, error) {
	var compacting *replay.Episode
	for _, arm := range s.options.Review.Record.Run.Plan.Arms {
		episode := s.episode(e, arm.Name)
		if episode == nil || episode.Context == "" {
			continue
		}
		if len(episode.Compactions) == 0 {
			return s.context(episode.Context)
		}
		if compacting == nil {
			compacting = episode
		}
	}
	if compacting == nil {
		return nil, nil
	}
	var list []fixtures.Message
	until := -1 // the turn up to which the list goes
	later := func(hash fixtures.Hash) error {
		messages, err := s.context(hash)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if until < 0 || m.Turn > until {
				list = append(list, m)
			}
		}
		return nil
	}
	for _, c := range compacting.Compactions {
		if c.AfterTurn > compacting.Fork {
			break
		}
		if err := later(c.Before); err != nil {
			return nil, err
		}
		until = c.AfterTurn
	}
	return list, later(compacting.Context)
}

// contextCache keeps the contexts that were looked at last: a pair's are asked for again
// with every fold that is opened.
type contextCache struct {
	hashes [6]fixtures.Hash
	lists  [6][]fixtures.Message
	next   int
}

func (s *desk) context(hash fixtures.Hash) ([]fixtures.Message, error) {
	c := &s.contexts
	if i := slices.Index(c.hashes[:], hash); i >= 0 {
		return c.lists[i], nil
	}
	list, err := s.options.Review.Record.Contexts.Get(hash)
	if err != nil {
		return nil, err
	}
	c.hashes[c.next], c.lists[c.next] = hash, list
	c.next = (c.next + 1) % len(c.hashes)
	return list, nil
}

// compareContexts pairs the messages of two contexts: those that are the same, then,
// between them, those of the same turn and role.
func compareContexts(a, b []fixtures.Message) []contextRow {
	same := func(m *fixtures.Message) string {
		return strings.Join([]string{strconv.Itoa(m.Turn), m.Role, m.ToolCallID, messageText(m)}, "\x00")
	}
	like := func(m *fixtures.Message) string {
		return strings.Join([]string{strconv.Itoa(m.Turn), m.Role, m.ToolCallID}, "\x00")
	}
	var rows []contextRow
	i, j := 0, 0
	rest := func(endI, endJ int) {
		baseI, baseJ := i, j
		for _, m := range inOrder(a[i:endI], b[j:endJ], like) {
			p, q := baseI+m[0], baseJ+m[1]
			rows = append(only(rows, i, p, j, q), contextRow{rowDiffers, p, q})
			i, j = p+1, q+1
		}
		rows = only(rows, i, endI, j, endJ)
		i, j = endI, endJ
	}
	for _, m := range inOrder(a, b, same) {
		rest(m[0], m[1])
		rows = append(rows, contextRow{rowEqual, m[0], m[1]})
		i, j = m[0]+1, m[1]+1
	}
	rest(len(a), len(b))
	return rows
}

func only(rows []contextRow, i, endI, j, endJ int) []contextRow {
	for ; i < endI; i++ {
		rows = append(rows, contextRow{rowLeft, i, -1})
	}
	for ; j < endJ; j++ {
		rows = append(rows, contextRow{rowRight, -1, j})
	}
	return rows
}

// inOrder pairs each message of b with the next one of a that has the same key. Turns
// are in the keys and in order, so the nearest is the right one.
func inOrder(a, b []fixtures.Message, key func(*fixtures.Message) string) [][2]int {
	places := map[string][]int{}
	for i := range a {
		k := key(&a[i])
		places[k] = append(places[k], i)
	}
	var out [][2]int
	from := 0
	for j := range b {
		list := places[key(&b[j])]
		at, _ := slices.BinarySearch(list, from)
		if at < len(list) {
			out = append(out, [2]int{list[at], j})
			from = list[at] + 1
		}
	}
	return out
}

// messageText is a message with its calls, as one text.
func messageText(m *fixtures.Message) string {
	if len(m.ToolCalls) == 0 {
		return m.Content
	}
	var b strings.Builder
	b.WriteString(m.Content)
	for _, call := range m.ToolCalls {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "calls %s %s", call.Name, fixtures.CanonicalArguments(call.Arguments))
	}
	return b.String()
}

// items marks the literals of the items in both columns, and where one is missing.
func (c *comparison) items() {
	c.marks = [2]map[int][]mark{{}, {}}
	c.contextItem = []contextItem{}
	for _, item := range c.entry.Items {
		var there [2]bool
		for k := range c.columns {
			there[k] = c.stands(k, item.Literal)
		}
		view := contextItem{ID: visible(item.ID), Class: item.Class, Turn: item.Turn, Literal: brief(item.Literal, longestLiteral)}
		view.Left, view.Right = c.fate(0, item, there[0]), c.fate(1, item, there[1])
		c.contextItem = append(c.contextItem, view)
		for k := range c.columns {
			kind := markKept
			verdicts := []replay.Verdict{c.verdictOn(0, item), c.verdictOn(1, item)}
			switch {
			case slices.Contains(verdicts, replay.Stale):
				kind = markStale
			case slices.Contains(verdicts, replay.Retired):
				continue // it no longer holds, and nothing says that it did
			case c.gone(1-k, item, there[1-k]):
				kind = markLost
			}
			c.mark(k, item.Literal, kind)
		}
		c.missingFrom(item, there)
	}
}

// verdictOn is what the run found of an item in a column; empty where it was not asked.
func (c *comparison) verdictOn(k int, item pairing.ItemFate) replay.Verdict {
	switch {
	case c.sides[k] == recorded:
		return ""
	case c.server.armOn(c.entry, c.sides[k]) == c.entry.First.Arm:
		return item.First
	}
	return item.Second
}

func (c *comparison) fate(k int, item pairing.ItemFate, there bool) string {
	switch v := c.verdictOn(k, item); {
	case c.missing[k] != "":
		return "not known"
	case v != "":
		return string(v)
	case there:
		return "stands there"
	}
	return "not there by the letter"
}

// gone says whether an item is lost in a column.
func (c *comparison) gone(k int, item pairing.ItemFate, there bool) bool {
	v := c.verdictOn(k, item)
	return v == replay.Absent || v == replay.Contradicted || v == "" && !there && c.missing[k] == ""
}

func (c *comparison) stands(k int, literal string) bool {
	return slices.ContainsFunc(c.columns[k], func(m fixtures.Message) bool { return strings.Contains(m.Content, literal) })
}

// mark marks a literal wherever it stands in a column.
func (c *comparison) mark(k int, literal, kind string) {
	if literal == "" {
		return
	}
	for i := range c.columns[k] {
		content := c.columns[k][i].Content
		for at := strings.Index(content, literal); at >= 0; {
			c.marks[k][i] = append(c.marks[k][i], mark{at, at + len(literal), kind})
			next := strings.Index(content[at+len(literal):], literal)
			if next < 0 {
				break
			}
			at += len(literal) + next
		}
	}
}

// missingFrom says of an item that one column lost, in the row where the other column
// states it.
func (c *comparison) missingFrom(item pairing.ItemFate, there [2]bool) {
	for k, lost := range []map[int][]lostView{c.lostOnLeft, c.lost} {
		if !c.gone(k, item, there[k]) || !there[1-k] {
			continue
		}
		for row := range c.rows {
			at := [2]int{c.rows[row].left, c.rows[row].right}
			if at[1-k] < 0 || !strings.Contains(c.columns[1-k][at[1-k]].Content, item.Literal) {
				continue
			}
			verdict := cmp.Or(c.verdictOn(k, item), replay.Absent)
			lost[row] = append(lost[row], lostView{visible(item.ID), verdict, brief(item.Literal, longestLiteral)})
			break
		}
	}
}

func (c *comparison) column(k int) column {
	out := column{Side: c.sides[k], Messages: len(c.columns[k]), Missing: c.missing[k]}
	for i := range c.columns[k] {
		out.Bytes += len(messageText(&c.columns[k][i]))
	}
	return out
}

func (c *comparison) kind(i int) string { return c.rows[i].kind }

// folded shows what the compactor wrote and changed, and where items were stated.
func (c *comparison) folded() []segment[rowView] {
	worth := func(i int) bool {
		r := c.rows[i]
		return r.kind == rowDiffers || r.kind == rowRight || len(c.lost[i]) > 0 || len(c.lostOnLeft[i]) > 0 ||
			r.left >= 0 && len(c.marks[0][r.left]) > 0 || r.right >= 0 && len(c.marks[1][r.right]) > 0
	}
	return folded(len(c.rows), worth, c.kind, c.row)
}

func (c *comparison) row(i int) rowView {
	r := c.rows[i]
	v := rowView{Index: i, Kind: r.kind}
	var marksL, marksR []mark
	if r.left >= 0 {
		marksL = c.marks[0][r.left]
	}
	if r.right >= 0 {
		marksR = c.marks[1][r.right]
	}
	if r.kind == rowDiffers {
		a, b := differing(messageText(&c.columns[0][r.left]), messageText(&c.columns[1][r.right]))
		// A literal matters more than that its message differs.
		marksL, marksR = besides(marksL, a), besides(marksR, b)
	}
	v.Left = c.cell(0, r.left, marksL)
	v.Right = c.cell(1, r.right, marksR)
	if lost := c.lostOnLeft[i]; len(lost) > 0 {
		v.Left = lacking(v.Left, lost)
	}
	if lost := c.lost[i]; len(lost) > 0 {
		v.Right = lacking(v.Right, lost)
	}
	return v
}

func lacking(c *cell, lost []lostView) *cell {
	if c == nil {
		c = &cell{Who: "nothing"}
	}
	c.Lost = lost
	return c
}

// besides adds marks where none of the first are.
func besides(first, more []mark) []mark {
	out := slices.Clone(first)
	for _, m := range more {
		for _, f := range ordered(first, 1<<62) {
			if f.from < m.to && f.to > m.from {
				if m.from < f.from {
					out = append(out, mark{m.from, f.from, m.kind})
				}
				m.from = min(f.to, m.to)
			}
		}
		if m.from < m.to {
			out = append(out, m)
		}
	}
	return out
}

func (c *comparison) cell(k, i int, marks []mark) *cell {
	if i < 0 {
		return nil
	}
	m := &c.columns[k][i]
	query := url.Values{"pair": {c.server.handle(c.entry)}, "of": {"context"}, "side": {string(c.sides[k])}, "n": {strconv.Itoa(i)}}
	out := &cell{Who: visible(m.Role), Turn: m.Turn, Text: passage{messageText(m), marks, query.Encode()}.pieces()}
	if kind := strings.Trim(string(m.Extra[replay.KindField]), `"`); kind == replay.KindSummary || kind == replay.KindOpaque {
		out.Who = kind
	}
	return out
}
