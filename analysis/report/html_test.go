package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

var update = flag.Bool("update", false, "write the golden files anew")

// words are the texts of a night that its recordings and models wrote.
type words struct {
	id, title, said, literal, argument, result, tool, check, reason, candidate, context string
}

func plainWords() words {
	return words{
		id: "harbour", title: "The draft is sent", said: "It is sent", literal: "never send the draft", argument: "D-1",
		result: "sent at noon", tool: "send", check: "k-never", reason: "the provider is down", candidate: "brief",
		context: "The user wants a letter.",
	}
}

// nightOf is a recorded night of n fixtures that the candidate loses and one that is
// void, and its findings.
func nightOf(t testing.TB, dir string, n int, w words) *analysis.Night {
	t.Helper()
	settings, err := json.Marshal(analysis.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	record := &replay.Record{Contexts: replay.NewContexts(dir), Run: replay.Run{ID: "run-1", Plan: replay.Plan{
		Command: "nightly", Fixtures: n + 1, Analysis: settings,
		Lineage: replay.Lineage{SetName: "test", SetVersion: "1", SetHash: "00", AgentModel: "m", Vocabulary: "v", VocabularyOwn: true},
		Arms: []replay.ArmInfo{
			{Name: "reference", Role: analysis.RoleReference, Kind: replay.ReferenceArm},
			{Name: w.candidate, Role: analysis.RoleCandidate, Kind: replay.CompactorArm, Compactor: w.candidate},
		},
	}}}
	whole := put(t, record.Contexts,
		fixtures.Message{Turn: 1, Role: fixtures.RoleUser, Content: "Write a letter, and " + w.literal + ". " + w.context},
		fixtures.Message{Turn: 2, Role: fixtures.RoleAssistant, Content: w.said, ToolCalls: []fixtures.ToolCall{{ID: "c", Name: w.tool, Arguments: arguments(w.argument)}}},
		fixtures.Message{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "c", Content: w.result})
	short := put(t, record.Contexts, fixtures.Message{Turn: 1, Role: fixtures.RoleUser, Content: w.context})
	for i := range n + 1 {
		f := &fixtures.Fixture{
			ConversationID: fmt.Sprintf("%s-%d", w.id, i), Title: w.title,
			MustSurvive: []fixtures.Item{{ID: "c1", Class: fixtures.Constraint, Turn: 1, Literal: w.literal}},
			Checks:      []fixtures.Check{{ID: w.check, Item: "c1", Never: "step > 1"}},
		}
		f.Hash = fixtures.HashBytes([]byte(f.ConversationID))
		record.Fixtures = append(record.Fixtures, f)
		call := func(turn, number int, argument string) replay.Step {
			return replay.Step{Kind: replay.StepCall, Turn: turn, Number: number, Source: replay.FromTape, Result: w.result,
				Call: &fixtures.ToolCall{ID: "c", Name: w.tool, Arguments: arguments(argument)}}
		}
		first := &replay.Episode{
			Key: replay.Key{Fixture: f.Hash, Arm: "reference"}, ConversationID: f.ConversationID, Status: replay.Played, PrefixHash: "p", Fork: 2, Context: whole, ContextTokens: 900,
			Steps: []replay.Step{
				{Kind: replay.StepUser, Turn: 3, Text: "Go on"}, call(4, 1, w.argument), {Kind: replay.StepText, Turn: 5, Text: w.said},
			},
		}
		second := &replay.Episode{
			Key: replay.Key{Fixture: f.Hash, Arm: w.candidate}, ConversationID: f.ConversationID, Status: replay.Played, PrefixHash: "p", Fork: 2, Context: short, ContextTokens: 90,
			Compactions: []replay.CompactionRecord{{AfterTurn: 2, Status: replay.Compacted, Before: whole, After: short, TokensBefore: 900, TokensAfter: 90,
				Rules: []replay.RuleResult{{Rule: replay.RulePairs, Held: false, Counter: w.reason}}}},
			Steps: []replay.Step{
				{Kind: replay.StepUser, Turn: 3, Text: "Go on"}, call(4, 1, w.argument), call(5, 2, w.argument+" again"), {Kind: replay.StepText, Turn: 6, Text: w.said + ", too"},
			},
		}
		if i == n {
			second.Status, second.Reason, second.Steps = replay.Void, w.reason, nil
			second.Compactions[0].Status, second.Compactions[0].Reason = replay.Refused, w.reason
		}
		record.Episodes = append(record.Episodes, first, second)
		record.Judgements = append(record.Judgements, &replay.Judgement{
			Key: second.Key, ConversationID: f.ConversationID, AfterTurn: 2, Item: "c1", Class: fixtures.Constraint, Verdict: replay.Absent, Context: short, Voice: w.reason,
		})
	}
	found, err := analysis.Analyse(record)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func arguments(text string) json.RawMessage {
	data, err := fixtures.MarshalPlain(map[string]string{"draft": text})
	if err != nil {
		return nil
	}
	return data
}

func put(t testing.TB, contexts *replay.Contexts, messages ...fixtures.Message) fixtures.Hash {
	t.Helper()
	hash, err := contexts.Put(messages)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func pageOf(t testing.TB, found *analysis.Night) string {
	t.Helper()
	figure := &Figure{Title: "Effect of " + found.Report.Candidate, Description: "Of " + found.Report.Candidate, Light: []byte("<svg/>"), Dark: []byte("<svg></svg>")}
	var b bytes.Buffer
	err := HTML(&b, Page{Report: found.Report, Record: found.Record, Queue: found.Queue, Figures: Figures{Effect: figure}})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile is text that would like to be more than text.
func hostile(of string) string {
	return of + `</script><script>alert(1)</script><img src=x onerror=alert(1)><a href="javascript:alert(1)">"'` +
		"\x1b[31m\x00\u202egnp.exe\u2066\u200b</td></table></details></main><!-- ]]>&#x202e;{{.Report}}\xff"
}

func hostileWords() words {
	p := plainWords()
	return words{
		id: hostile(p.id), title: hostile(p.title), said: hostile(p.said), literal: hostile(p.literal), argument: hostile(p.argument),
		result: hostile(p.result), tool: hostile(p.tool), check: hostile(p.check), reason: hostile(p.reason), candidate: hostile(p.candidate),
		context: hostile(p.context),
	}
}

// element is a start of an element with its attributes.
type element struct {
	name       string
	attributes map[string]string
}

// parse reads a page as the strict reader of XML does, which our pages keep to but for
// elements without an end. Texts and ends come back too, as one string.
func parse(t interface{ Fatalf(string, ...any) }, page string) (elements []element, text string) {
	// Style and script follow other rules and are ours; they are compared byte for byte.
	for _, name := range []string{"style", "script"} {
		data, err := htmlFiles.ReadFile(map[string]string{"style": "html/page.css", "script": "html/page.js"}[name])
		if err != nil {
			t.Fatalf("%v", err)
		}
		whole := "<" + name + ">" + string(data) + "</" + name + ">"
		if strings.Count(page, whole) != 1 {
			t.Fatalf("the page does not have our own %s exactly once", name)
		}
		page = strings.Replace(page, whole, "<our-"+name+"></our-"+name+">", 1)
	}
	page = strings.ReplaceAll(page, ` id="tools" hidden>`, ` id="tools">`)
	page = regexp.MustCompile(`(<(?:meta|img|source) [^>]*)>`).ReplaceAllString(page, "$1/>")
	d := xml.NewDecoder(strings.NewReader(page))
	var open []string
	var b strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page does not parse: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{x.Name.Local, map[string]string{}}
			for _, a := range x.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			elements = append(elements, e)
			open = append(open, e.name)
		case xml.EndElement:
			if open[len(open)-1] != x.Name.Local {
				t.Fatalf("%s ends %s", x.Name.Local, open[len(open)-1])
			}
			open = open[:len(open)-1]
		case xml.CharData:
			b.Write(x)
		case xml.Comment, xml.ProcInst:
			t.Fatalf("the page has %T %q", x, x)
		}
	}
	if len(open) > 0 {
		t.Fatalf("never closed: %v", open)
	}
	return elements, b.String()
}

func TestHTMLKeepsTextHarmless(t *testing.T) {
	page := pageOf(t, nightOf(t, t.TempDir(), 2, hostileWords()))
	elements, text := parse(t, page)
	plain, _ := parse(t, pageOf(t, nightOf(t, t.TempDir(), 2, plainWords())))
	known := map[string]map[string]bool{}
	for _, e := range plain {
		if known[e.name] == nil {
			known[e.name] = map[string]bool{}
		}
		for name := range e.attributes {
			known[e.name][name] = true
		}
	}
	image := regexp.MustCompile(`^data:image/svg\+xml;base64,[A-Za-z0-9+/=]+$`)
	for _, e := range elements {
		if known[e.name] == nil && e.name != "mark" {
			t.Errorf("the page has an element %s that a plain night has not", e.name)
		}
		for name, value := range e.attributes {
			if known[e.name] != nil && !known[e.name][name] {
				t.Errorf("%s has an attribute %s that a plain night has not", e.name, name)
			}
			switch name {
			case "href":
				if !regexp.MustCompile(`^#[a-z0-9-]+$`).MatchString(value) {
					t.Errorf("a link to %q", value)
				}
			case "src", "srcset":
				if !image.MatchString(value) {
					t.Errorf("an image %q", value)
				}
			case "id", "class":
				if !regexp.MustCompile(`^[a-z0-9 -]*$`).MatchString(value) {
					t.Errorf("%s has the %s %q", e.name, name, value)
				}
			}
		}
	}
	for _, r := range page {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			t.Errorf("the page has a %U", r)
			break
		}
	}
	for _, want := range []string{"<script>alert(1)</script>", "javascript:alert(1)", "␛[31m␀[U+202E]gnp.exe[U+2066][U+200B]", "{{.Report}}", "&#x202e;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

// TestHTMLPolicy holds the page to a policy that lets its own style and script run and
// nothing else.
func TestHTMLPolicy(t *testing.T) {
	page := pageOf(t, nightOf(t, t.TempDir(), 1, plainWords()))
	elements, _ := parse(t, page)
	i := slices.IndexFunc(elements, func(e element) bool { return e.attributes["http-equiv"] == "Content-Security-Policy" })
	if i < 0 {
		t.Fatal("the page has no policy")
	}
	want := "default-src 'none'"
	for _, part := range []struct{ directive, element string }{{"style-src", "style"}, {"script-src", "script"}} {
		_, after, _ := strings.Cut(page, "<"+part.element+">")
		inside, _, _ := strings.Cut(after, "</"+part.element+">")
		sum := sha256.Sum256([]byte(inside))
		want += fmt.Sprintf("; %s 'sha256-%s'", part.directive, base64.StdEncoding.EncodeToString(sum[:]))
	}
	want += "; img-src data:; base-uri 'none'; form-action 'none'"
	if got := elements[i].attributes["content"]; got != want {
		t.Errorf("policy\n%s\nwant\n%s", got, want)
	}
	for _, e := range elements {
		if e.attributes["style"] != "" || e.name == "link" || e.name == "iframe" || e.name == "form" || e.name == "base" {
			t.Errorf("the page has a %s that its policy forbids", e.name)
		}
	}
}

// TestHTMLStructure looks at what people who do not see the page go by.
func TestHTMLStructure(t *testing.T) {
	elements, _ := parse(t, pageOf(t, nightOf(t, t.TempDir(), 2, plainWords())))
	level, ids := 0, map[string]bool{}
	count := map[string]int{}
	for i, e := range elements {
		count[e.name]++
		if id := e.attributes["id"]; id != "" {
			if ids[id] {
				t.Errorf("two elements have the id %s", id)
			}
			ids[id] = true
		}
		switch e.name {
		case "h1", "h2", "h3", "h4":
			now := int(e.name[1] - '0')
			if now > level+1 {
				t.Errorf("a heading of level %d follows one of level %d", now, level)
			}
			level = now
		case "table":
			if elements[i+1].name != "caption" {
				t.Error("a table has no caption")
			}
		case "th":
			if e.attributes["scope"] == "" {
				t.Error("a head of a table has no scope")
			}
		case "img":
			if e.attributes["alt"] == "" {
				t.Error("an image has no text in its place")
			}
		}
	}
	for _, name := range []string{"h1", "main", "nav", "header", "footer", "title"} {
		if count[name] != 1 {
			t.Errorf("the page has %d %s", count[name], name)
		}
	}
	for _, e := range elements {
		if to, ok := strings.CutPrefix(e.attributes["href"], "#"); ok && !ids[to] {
			t.Errorf("a link goes to %s, which is nowhere", to)
		}
		if by := e.attributes["aria-labelledby"]; by != "" && !ids[by] {
			t.Errorf("a label %s is nowhere", by)
		}
	}
}

// TestHTMLShapeIsTextFree holds that no text changes what elements a page has.
func TestHTMLShapeIsTextFree(t *testing.T) {
	dir := t.TempDir()
	shape := func(t interface{ Fatalf(string, ...any) }, page string) string {
		elements, _ := parse(t, page)
		var names []string
		for _, e := range elements {
			names = append(names, e.name)
		}
		return strings.Join(names, " ")
	}
	var plain, got string
	rapid.Check(t, func(rt *rapid.T) {
		// A letter at the start keeps texts from being empty; what differs in two
		// arguments is marked, so that the arguments stay the same.
		draw := func(label string) string { return "x" + rapid.StringN(0, 40, -1).Draw(rt, label) }
		p := plainWords()
		w := words{
			id: draw("id"), title: draw("title"), said: draw("said"), literal: "L" + draw("literal"), argument: p.argument,
			result: draw("result"), tool: draw("tool"), check: draw("check"), reason: draw("reason"), candidate: "N" + draw("candidate"), context: draw("context"),
		}
		if plain == "" {
			plain = shape(rt, pageOf(t, nightOf(t, dir, 1, p)))
		}
		if strings.Contains(w.context, w.literal) || strings.Contains(w.said, w.literal) {
			rt.Skip("the literal stands where it should not")
		}
		if got = shape(rt, pageOf(t, nightOf(t, dir, 1, w))); got != plain {
			rt.Fatalf("a page has the elements\n%s\nanother\n%s", got, plain)
		}
	})
}

func TestHTMLSameBytes(t *testing.T) {
	found := nightOf(t, t.TempDir(), 3, hostileWords())
	if first, second := pageOf(t, found), pageOf(t, found); first != second {
		t.Error("the same night gives two pages")
	}
}

// TestHTMLSize fills 40 pairs, and far more than a page shows, with long texts.
func TestHTMLSize(t *testing.T) {
	const limit = 5_000_000
	long := func(text string, n int) string { return strings.Repeat(text, n/len(text)) }
	w := plainWords()
	w.said, w.context, w.result, w.literal = long(`"`, 100_000), long("\u202e", 100_000), long("ö<&", 50_000), long("word", 5_000)
	w.title, w.argument, w.reason = long("t ", 5_000), long("'", 20_000), long("\x00", 5_000)
	page := pageOf(t, nightOf(t, t.TempDir(), 40, w))
	if len(page) > limit {
		t.Errorf("40 pairs of long texts make a page of %d bytes, want at most %d", len(page), limit)
	}
	if n := strings.Count(page, `<details class="whole">`); n != 40 {
		t.Errorf("%d pairs can be unfolded, want 40", n)
	}
	if n := strings.Count(page, "First divergence"); n != 40 {
		t.Errorf("the first divergence is marked in %d pairs, want 40", n)
	}
	if !strings.Contains(page, "more characters are cut]") {
		t.Error("nothing says what was cut")
	}
	parse(t, page)

	w.said, w.context, w.literal = long("word", 1_000_000), long(" \u200b", 1_000_000), long("x", 1_000_000)
	page = pageOf(t, nightOf(t, t.TempDir(), 1, w))
	if len(page) > limit/10 {
		t.Errorf("a pair of words of 1 MB makes a page of %d bytes, want at most %d", len(page), limit/10)
	}
	parse(t, page)

	many := nightOf(t, t.TempDir(), 900, plainWords())
	page = pageOf(t, many)
	if len(page) > limit {
		t.Errorf("900 pairs make a page of %d bytes, want at most %d", len(page), limit)
	}
	if !strings.Contains(page, "700 more disagreements are in the queue") {
		t.Error("nothing says how many disagreements were cut")
	}
	parse(t, page)
}

// TestHTMLPair looks for what a person decides by.
func TestHTMLPair(t *testing.T) {
	found := nightOf(t, t.TempDir(), 1, plainWords())
	found.Report.Reviewed = &analysis.Reviewed{Queue: 1, Decided: 1}
	page := pageOf(t, found)
	for what, want := range map[string]string{
		"the divergence":         `<strong>First divergence, in calls, turn 5</strong>`,
		"an empty side":          `<td class="none">`,
		"equal steps folded":     `<summary>2 steps the same on both sides, turns 3 to 4</summary>`,
		"the evidence":           `step 2 called send {&#34;draft&#34;:&#34;D-1 again&#34;}`,
		"the lost item":          `absent: constraint c1 of turn 1: “never send the draft”`,
		"where it was stated":    `Write a letter, and <mark>never send the draft</mark>. The user wants a letter.`,
		"the compacted context":  `<summary>Context of <bdi>brief</bdi>: 90 tokens in 1 message; 1 not kept</summary>`,
		"the compaction":         `compaction 1, after turn 2: compacted, 900 tokens before, 90 after`,
		"the rule that broke":    `breaks pairs: the provider is down`,
		"the whole context":      `<summary>Context of <bdi>reference</bdi>: 900 tokens in 3 messages, not compacted</summary>`,
		"what people decided":    `1 of 1 pair decided`,
		"who is not paired":      `harbour-1`,
		"the last section":       `Task success (no gate`,
		"the noise floor's name": `<h2 id="noise-h"><bdi>Noise floor</bdi></h2>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s: %s", what, want)
		}
	}
}

func TestHTMLWithoutPairsAndContexts(t *testing.T) {
	dir := t.TempDir()
	found := nightOf(t, dir, 1, plainWords())
	var b bytes.Buffer
	if err := HTML(&b, Page{Report: found.Report}); err != nil {
		t.Fatal(err)
	}
	parse(t, b.String())
	if page := b.String(); strings.Contains(page, "<details class=\"whole\">") || !strings.Contains(page, "check k-never: step 2 called send") {
		t.Error("without pairs the page does not show the disagreements in short")
	}
	found.Record.Contexts = replay.NewContexts(t.TempDir())
	page := pageOf(t, found)
	parse(t, page)
	if !strings.Contains(page, "is no longer in the run directory") {
		t.Error("the page does not say that a context is gone")
	}
}

func TestHTMLOfAnotherQueue(t *testing.T) {
	found := nightOf(t, t.TempDir(), 1, plainWords())
	entry := found.Queue[0]
	entry.Second.Arm, entry.Second.Context, entry.Divergence = "nobody", "../../etc/passwd", nil
	var b bytes.Buffer
	if err := HTML(&b, Page{Report: found.Report, Record: found.Record, Queue: []pairing.Entry{entry}}); err != nil {
		t.Fatal(err)
	}
	parse(t, b.String())
	if !strings.Contains(b.String(), "the context ../../etc/passwd in the run directory is damaged") {
		t.Error("the page does not say that a context could not be read")
	}
}

// TestHTMLGolden holds the page of a small night to a file, without the style, the
// script and their hashes, which have tests of their own.
func TestHTMLGolden(t *testing.T) {
	page := pageOf(t, nightOf(t, t.TempDir(), 1, plainWords()))
	for _, name := range []string{"style", "script"} {
		page = regexp.MustCompile(`(?s)<`+name+`>.*</`+name+`>`).ReplaceAllString(page, "<"+name+"/>")
	}
	page = regexp.MustCompile(`sha256-[A-Za-z0-9+/=&#;]+`).ReplaceAllString(page, "sha256-x")
	path := filepath.Join("testdata", "night.html")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if page != string(want) {
		t.Errorf("the page has changed: look at the difference to %s, and run go test ./analysis/report -update if it is meant", path)
	}
}
