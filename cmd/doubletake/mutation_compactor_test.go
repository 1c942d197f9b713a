package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// mutator is a compactor that knows the items and does to each fixture what its
// mutation says: a summary that lists the items, and the last turns as they were.
type mutator struct {
	set    []*fixtures.Fixture
	texts  map[string]map[string]itemTexts
	column map[string]*mutation
}

// keptByMutator is how many turns a mutator keeps.
const keptByMutator = 4

// entry is one item in a summary.
type entry struct {
	item *fixtures.Item
	text string
}

// Compact implements [replay.Compactor].
func (c *mutator) Compact(_ context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	m := c.column[req.Fixture]
	if m == nil {
		return &replay.Compaction{Status: replay.Refused, Reason: "nothing to do here"}, nil
	}
	at := slices.IndexFunc(c.set, func(f *fixtures.Fixture) bool { return f.ConversationID == req.Fixture })
	f := c.set[at]
	active := m.only < 0 || m.only == req.Compaction
	literal := ""
	if item := f.Item(m.item); item != nil && active {
		literal = item.Literal
	}
	if m.kind == cuts {
		note := summary(req, fixtures.RoleUser, "The conversation so far, as it was.")
		return &replay.Compaction{Status: replay.Compacted, Messages: append(note, without(req.Messages, literal)...)}, nil
	}
	var entries []entry
	for i := range f.MustSurvive {
		item := &f.MustSurvive[i]
		if item.Turn > req.AfterTurn {
			continue
		}
		e := entry{item, item.Literal}
		if said := c.texts[req.Fixture][item.ID].Said; m.words >= 0 && len(said) > 0 {
			e.text = said[m.words%len(said)]
		}
		if active && item.ID == m.item {
			if m.kind == drops {
				continue
			}
			e.text = m.text
		}
		entries = append(entries, e)
	}
	first := slices.IndexFunc(req.Messages, func(m replay.CompactMessage) bool {
		return m.Turn > req.AfterTurn-keptByMutator && m.Role != fixtures.RoleTool
	})
	text, role := m.style.write(entries)
	return &replay.Compaction{
		Status:   replay.Compacted,
		Messages: append(summary(req, role, text), without(req.Messages[first:], literal)...),
	}, nil
}

func summary(req *replay.CompactRequest, role, text string) []replay.CompactMessage {
	return []replay.CompactMessage{{
		ID: fmt.Sprintf("summary-%d", req.Compaction), Kind: replay.KindSummary,
		Message: fixtures.Message{Role: role, Content: text},
	}}
}

// without takes a literal out of the messages wherever it stands.
func without(messages []replay.CompactMessage, literal string) []replay.CompactMessage {
	out := slices.Clone(messages)
	for i := range out {
		out[i].Kind = replay.KindKept
		if literal != "" && strings.Contains(out[i].Content, literal) {
			out[i].ID, out[i].Kind = out[i].ID+"-cut", replay.KindSummary
			out[i].Content = strings.TrimSpace(strings.ReplaceAll(out[i].Content, literal, " "))
		}
	}
	return out
}

// style is a way to write a list of items.
type style int

const (
	bullets style = iota
	numbered
	backwards
	reported
	labelled
	headings
	oneLine
	paragraph
	quoted
	shouted
	bold
	table
	byAssistant
	fullWidth
	tagged
	asJSON
	chained
)

var styleNames = []string{
	"bullets", "numbers", "bullets in reverse", "reported speech", "labels", "lists under headings", "one line", "a paragraph", "quotes",
	"capitals", "bold bullets", "a table", "the assistant's bullets", "full-width punctuation", "tags", "JSON", "one sentence",
}

// write writes the entries and says whose message they are.
func (s style) write(entries []entry) (text, role string) {
	each := func(between string, format func(i int, e entry) string) string {
		lines := make([]string, len(entries))
		for i, e := range entries {
			lines[i] = format(i, e)
		}
		return strings.Join(lines, between)
	}
	ended := func(text string) string {
		if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
			return text
		}
		return text + "."
	}
	open := func(text string) string { return strings.TrimSuffix(text, ".") }
	role = fixtures.RoleUser
	switch s {
	case numbered:
		text = each("\n", func(i int, e entry) string { return fmt.Sprintf("%d. %s", i+1, e.text) })
	case backwards:
		entries = slices.Clone(entries)
		slices.Reverse(entries)
		text = each("\n", func(_ int, e entry) string { return "* " + e.text })
	case reported:
		text = each("\n", func(_ int, e entry) string { return fmt.Sprintf("The user said on turn %d: %s", e.item.Turn, e.text) })
	case labelled:
		text = each("\n", func(_ int, e entry) string {
			return fmt.Sprintf("[turn %d] %s: %s", e.item.Turn, e.item.Class, ended(e.text))
		})
	case headings:
		for _, class := range fixtures.Classes() {
			text += "## " + strings.ReplaceAll(string(class), "_", " ") + "s\n"
			for _, e := range entries {
				if e.item.Class == class {
					text += "- " + e.text + "\n"
				}
			}
		}
	case oneLine:
		text = each("; ", func(_ int, e entry) string { return open(e.text) })
	case paragraph:
		text = each(" ", func(_ int, e entry) string { return ended(e.text) })
	case quoted:
		text = each("\n", func(_ int, e entry) string { return "Still in force: “" + e.text + "”" })
	case shouted:
		text = each("\n", func(_ int, e entry) string { return "- " + strings.ToUpper(e.text) })
	case bold:
		text = each("\n", func(_ int, e entry) string { return "- **" + e.text + "**" })
	case table:
		text = "| kind | what |\n|---|---|\n" + each("\n", func(_ int, e entry) string { return fmt.Sprintf("| %s | %s |", e.item.Class, e.text) })
	case byAssistant:
		role, text = fixtures.RoleAssistant, each("\n", func(_ int, e entry) string { return "- " + e.text })
	case fullWidth:
		text = each("\n", func(_ int, e entry) string {
			return "・" + strings.NewReplacer(", ", "，", "?", "？").Replace(open(e.text))
		})
	case tagged:
		text = each("\n", func(_ int, e entry) string { return fmt.Sprintf("<%[1]s>%[2]s</%[1]s>", e.item.Class, e.text) })
	case asJSON:
		text = each("\n", func(_ int, e entry) string {
			line, err := json.Marshal(map[string]any{"turn": e.item.Turn, "text": e.text})
			if err != nil {
				panic(err) // a map of a number and a text
			}
			return string(line)
		})
	case chained:
		text = each(", and ", func(_ int, e entry) string { return open(e.text) })
	default:
		text = "Still in force:\n" + each("\n", func(_ int, e entry) string { return "- " + e.text })
	}
	if text == "" {
		text = "Nothing yet."
	}
	return text, role
}
