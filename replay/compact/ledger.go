package compact

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Ledger writes a summary as [Summarize] does and puts before it, in a message of
// its own, every sentence of the user and the assistant that binds as [Binding]
// reads it, word for word and with its turn. A later compaction takes the entries
// over as they are; they are never summarised or nested.
//
// What does not fit the budget goes by class, references first and rules last,
// the oldest of a class first, and the ledger says how many went. An entry of an
// earlier ledger that goes is shown to the summariser once more.
type Ledger struct {
	summariser
	keep int
}

// ledgerShare is the part of the room beside the kept turns that the ledger may
// take from the summary.
const ledgerShare = 0.6

func newLedger(options Options) *Ledger {
	return &Ledger{newSummariser(NameLedger, options), keepTurns(options)}
}

// Compact replaces the older turns by a ledger and a summary.
func (c *Ledger) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cut, reason := c.cut(req, c.keep)
	if reason != "" {
		return unchanged(c.name, reason), nil
	}
	out := &replay.Compaction{Status: replay.Compacted, Identity: c.identity()}
	stays := map[string]bool{}
	for i := range cut.kept {
		stays[cut.kept[i].ID] = true
	}
	book := readBook(cut.older, stays)
	room := cut.room - c.counter.Count(userMessage("", summaryHeading, nil).Message)
	within := c.within(book, max(0, room-max(minSummaryTokens, int((1-ledgerShare)*float64(max(0, room))))))
	older := c.transcribed(book, within, cut.older)
	summary, err := c.write(ctx, req, older, room-c.size(book, within), out)
	if err != nil || out.Status != replay.Compacted {
		return out, err
	}
	// A summary shorter than it might have been leaves room for more entries.
	left := room - c.counter.Count(fixtures.Message{Role: fixtures.RoleUser, Content: summary})
	if more := c.within(book, left); more > within {
		within = more
	}
	ids := newIDsFor(req)
	if text := book.text(within); text != "" {
		out.Messages = append(out.Messages, userMessage(ids.next("ledger"), text, idsOf(cut.older)))
	}
	sources := idsOf(older)
	out.SummariserInput = sources
	out.Messages = append(out.Messages, userMessage(ids.next(""), summaryHeading+summary, sources))
	out.Messages = append(out.Messages, cut.kept...)
	out.DroppedIDs = cut.dropped
	return c.smaller(out, cut.total), nil
}

// Digest names what the output depends on.
func (c *Ledger) Digest() fixtures.Hash {
	return digestOf(c.name, version, sha256Hex(c.prompt), c.modelName, strconv.Itoa(c.keep), fmt.Sprintf("%T", c.counter))
}

// book is what a ledger could hold.
type book struct {
	entries []entry // in the order of the conversation
	order   []int   // indices of entries, the last to go first
	lost    int     // entries that earlier compactions left out
	ledgers map[string]bool
}

// entry is one line of a ledger.
type entry struct {
	turn    int
	role    string
	text    string
	class   BindingClass
	carried bool // from an earlier ledger
}

func (e *entry) line() string {
	return fmt.Sprintf("- [turn %d, %s] %s", e.turn, e.role, e.text)
}

var (
	entryPattern = regexp.MustCompile(`^- \[turn (\d+), (user|assistant)\] (.+)$`)
	lostPattern  = regexp.MustCompile(`^\((\d+) (?:entry|entries) left out to save space\)$`)
)

// readBook collects the entries of earlier ledgers and the sentences that bind in
// the messages that do not stay.
func readBook(older []replay.CompactMessage, stays map[string]bool) *book {
	b := &book{ledgers: map[string]bool{}}
	earlier := leading(older)
	for i := range older {
		m := &older[i]
		switch {
		case i < earlier && isLedger(m):
			b.ledgers[m.ID] = true
			b.carryOver(m.Content)
		case written(m), stays[m.ID], m.Role != fixtures.RoleUser && m.Role != fixtures.RoleAssistant:
		default:
			for _, s := range Binding(m.Content) {
				if m.Role == fixtures.RoleAssistant && s.Class == BindsDecision && countWords(s.Text, minSummaryWords) < minSummaryWords {
					continue // the assistant says "ok", and settles nothing
				}
				b.entries = append(b.entries, entry{m.Turn, m.Role, s.Text, s.Class, false})
			}
		}
	}
	b.entries = lastOfEach(b.entries)
	b.order = make([]int, len(b.entries))
	for i := range b.order {
		b.order[i] = i
	}
	slices.SortStableFunc(b.order, func(i, j int) int {
		if d := b.entries[j].class.strength() - b.entries[i].class.strength(); d != 0 {
			return d
		}
		return j - i // the newer one stays longer
	})
	return b
}

func (b *book) carryOver(ledger string) {
	for line := range strings.Lines(strings.TrimPrefix(ledger, ledgerHeading)) {
		line = strings.TrimRight(line, "\r\n")
		if match := lostPattern.FindStringSubmatch(line); match != nil {
			if n, err := strconv.Atoi(match[1]); err == nil {
				b.lost += n
			}
			continue
		}
		match := entryPattern.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		turn, err := strconv.Atoi(match[1])
		if err != nil {
			continue
		}
		// The item of a list bound because of the line before it, which no longer
		// shows: it counts as a rule.
		class := BindsRule
		if found := Binding(match[3]); len(found) == 1 {
			class = found[0].Class
		}
		b.entries = append(b.entries, entry{turn, match[2], match[3], class, true})
	}
}

// lastOfEach drops an entry that the same speaker said again later: the last time
// is the one that holds.
func lastOfEach(entries []entry) []entry {
	type key struct{ role, text string }
	last := map[key]int{}
	for i, e := range entries {
		last[key{e.role, e.text}] = i
	}
	var out []entry
	for i, e := range entries {
		if last[key{e.role, e.text}] == i {
			out = append(out, e)
		}
	}
	return out
}

// text is the ledger with the first n entries of the order, in the order of the
// conversation, or nothing where nothing ever bound.
func (b *book) text(n int) string {
	if len(b.entries) == 0 && b.lost == 0 {
		return ""
	}
	in := make([]bool, len(b.entries))
	for _, i := range b.order[:n] {
		in[i] = true
	}
	var t strings.Builder
	t.WriteString(ledgerHeading)
	for i := range b.entries {
		if in[i] {
			t.WriteString(b.entries[i].line())
			t.WriteByte('\n')
		}
	}
	if lost := b.lost + len(b.entries) - n; lost > 0 {
		fmt.Fprintf(&t, "(%s left out to save space)\n", plural(lost, "entry"))
	}
	return strings.TrimSuffix(t.String(), "\n")
}

// size is the number of tokens of the ledger with n entries.
func (c *Ledger) size(b *book, n int) int {
	text := b.text(n)
	if text == "" {
		return 0
	}
	return c.counter.Count(userMessage("", text, nil).Message)
}

// within is how many entries fit in budget tokens.
func (c *Ledger) within(b *book, budget int) int {
	n := len(b.entries)
	if c.size(b, n) <= budget {
		return n
	}
	low, high := 0, n // low entries fit, high do not
	for low+1 < high {
		if mid := (low + high) / 2; c.size(b, mid) <= budget {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// transcribed is what the summariser reads: the older messages without earlier
// ledgers, but with those of their entries that did not fit.
func (c *Ledger) transcribed(b *book, within int, older []replay.CompactMessage) []replay.CompactMessage {
	gone := map[int]bool{}
	for _, i := range b.order[within:] {
		gone[i] = b.entries[i].carried
	}
	var again []string
	for i := range b.entries {
		if gone[i] {
			again = append(again, b.entries[i].line())
		}
	}
	var out []replay.CompactMessage
	for i := range older {
		m := older[i]
		if b.ledgers[m.ID] && i < leading(older) {
			if len(again) == 0 {
				continue
			}
			m.Content = ledgerHeading + strings.Join(again, "\n")
			again = nil
		}
		out = append(out, m)
	}
	return out
}
