package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// The bounds of the agent without a script.
const (
	genericCalls  = 2  // for one user message
	genericQuotes = 12 // sentences that it restates
)

// follow does what the script says about the user message at last: its calls, one
// in each reply, then its closing text.
func (p *provider) follow(req *chatRequest, last int, script *Script, turn *ScriptTurn) reply {
	return act(req, last, turn, p.memory(req, script))
}

// act is follow for what the agent remembers.
func act(req *chatRequest, last int, turn *ScriptTurn, memory *memory) reply {
	var calls []call
	var says []string
	for i := range turn.Steps {
		step := &turn.Steps[i]
		switch {
		case step.Call != nil && !req.offers(step.Call.Name), !memory.holds(step):
		case step.Call != nil:
			arguments, err := fixtures.CanonicalJSON(step.Call.Arguments)
			if err != nil {
				arguments = step.Call.Arguments
			}
			calls = append(calls, call{name: step.Call.Name, arguments: string(arguments)})
		default:
			says = append(says, step.Say)
		}
	}
	done := 0 // replies since the user spoke
	for _, m := range req.Messages[last+1:] {
		if m.role == "assistant" {
			done++
		}
	}
	if done < len(calls) {
		return reply{calls: calls[done : done+1], finish: "tool_calls"}
	}
	text := strings.Join(says, " ")
	if text == "" {
		text = "Done."
	}
	return reply{text: text, finish: "stop"}
}

// memory is what the agent saw before the first scripted user message of a fixture.
type memory struct {
	library *Library
	fixture string
	reading *Reading
	texts   []string // of all messages and calls
	hidden  string   // an item that counts as not seen, or ""
}

// memory collects the messages before the first user message that the script of
// the fixture answers.
func (p *provider) memory(req *chatRequest, script *Script) *memory {
	m := &memory{library: p.library, fixture: script.Fixture}
	var contents []string
	for _, msg := range req.Messages {
		if msg.role == "user" {
			if owner, _ := p.library.turn(msg.text); owner == script {
				break
			}
		}
		contents = append(contents, msg.text)
		for _, c := range msg.calls {
			m.texts = append(m.texts, c.name, c.arguments)
		}
	}
	m.texts = append(m.texts, contents...)
	m.reading = p.readings.of(contents)
	return m
}

// holds says whether all the conditions of a step hold.
func (m *memory) holds(s *Step) bool {
	is := func(verdicts ...Verdict) func(string) bool {
		return func(item string) bool {
			return slices.Contains(verdicts, m.stance(item))
		}
	}
	any := func(items []string, verdicts ...Verdict) bool {
		return len(items) == 0 || slices.ContainsFunc(items, is(verdicts...))
	}
	return !slices.ContainsFunc(s.When, is(Absent, Contradicted)) &&
		any(s.Unless, Absent, Contradicted) &&
		any(s.Absent, Absent) &&
		any(s.Inverted, Contradicted) &&
		(s.Seen == "" || m.seen(s.Seen)) &&
		(s.Unseen == "" || !m.seen(s.Unseen))
}

// stance is what the context says about an item.
func (m *memory) stance(item string) Verdict {
	if item == m.hidden {
		return Absent
	}
	return m.reading.Stance(m.library.literal(m.fixture, item))
}

// seen says whether the text stands somewhere, whatever the case.
func (m *memory) seen(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(m.texts, func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
}

// generic is the agent without a script. It reads what the last user message or an
// earlier summary names and has not been read since, then closes with what it
// still sees as binding, so that what a context lost shows in its text.
func (p *provider) generic(req *chatRequest, last int) reply {
	from := max(last, 0)
	done := 0
	for _, m := range req.Messages[from:] {
		done += len(m.calls)
	}
	if done < genericCalls {
		if c, ok := nextRead(req, last); ok {
			return reply{calls: []call{c}, finish: "tool_calls"}
		}
	}
	return reply{text: restate(req.Messages, last), finish: "stop"}
}

// nextRead is the next thing to read.
func nextRead(req *chatRequest, last int) (call, bool) {
	name, argument, shell := readingTool(req)
	if name == "" || last < 0 {
		return call{}, false
	}
	paths := pathsIn(req.Messages[last].text)
	since := last
	if len(paths) == 0 {
		paths, since = summaryPath(req.Messages)
	}
	for _, path := range paths {
		if readSince(req.Messages[since:], path) {
			continue
		}
		value := path
		if shell {
			value = "cat " + path
		}
		arguments, err := fixtures.MarshalPlain(map[string]string{argument: value})
		if err != nil {
			return call{}, false
		}
		return call{name: name, arguments: string(arguments)}, true
	}
	return call{}, false
}

// summaryPath is the first path that the latest summary names, and its message.
func summaryPath(messages []message) ([]string, int) {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].role != "assistant" && messages[i].role != "tool" && isSummary(messages[i].text) {
			paths := pathsIn(messages[i].text)
			return paths[:min(len(paths), 1)], i
		}
	}
	return nil, 0
}

func readSince(messages []message, path string) bool {
	return slices.ContainsFunc(messages, func(m message) bool {
		return slices.ContainsFunc(m.calls, func(c call) bool { return strings.Contains(c.arguments, path) })
	})
}

// pathsIn are the paths that a text names, in their order.
func pathsIn(text string) []string {
	var paths []string
	for word := range strings.FieldsSeq(text) {
		word = strings.TrimRight(strings.Trim(word, "\"'`()[]{}<>*,:;!?"), ".")
		if looksLikePath(word) && !slices.Contains(paths, word) {
			paths = append(paths, word)
		}
	}
	return paths
}

// readingTool picks the tool that reads best, and its argument for a path.
func readingTool(req *chatRequest) (name, argument string, shell bool) {
	if string(req.ToolChoice) == `"none"` {
		return "", "", false
	}
	for _, word := range []string{"read", "view", "cat", "open", "search", "grep", "find", "shell", "bash", "exec", "run"} {
		for i := range req.Tools {
			t := &req.Tools[i].Function
			if !slices.Contains(nameWords(t.Name), word) {
				continue
			}
			if argument = stringArgument(t.Parameters); argument != "" {
				return t.Name, argument, word == "shell" || word == "bash" || word == "exec" || word == "run"
			}
		}
	}
	return "", "", false
}

// nameWords cuts read_file, readFile and read-file into words.
func nameWords(name string) []string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return strings.FieldsFunc(strings.ToLower(b.String()), func(r rune) bool { return r == ' ' || r == '_' || r == '-' || r == '.' })
}

// stringArgument is the first required text of a schema, else its first text by
// name.
func stringArgument(schema json.RawMessage) string {
	var object struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if len(schema) == 0 || json.Unmarshal(schema, &object) != nil {
		return ""
	}
	for _, name := range slices.Concat(object.Required, slices.Sorted(maps.Keys(object.Properties))) {
		if bytes.Contains(object.Properties[name].Type, []byte(`"string"`)) {
			return name
		}
	}
	return ""
}

// restate closes a turn of the agent without a script. It quotes what binds, what
// touches the user's message first and then the oldest, in the order in which it
// was said.
func restate(messages []message, last int) string {
	topic := ""
	if last >= 0 {
		topic = messages[last].text
	}
	words := map[string]bool{}
	for _, u := range newStatement(topic).units {
		for _, part := range u.parts {
			words[part] = true
		}
	}
	type quote struct {
		text         string
		place, touch int
	}
	var quotes []quote
	known := map[string]bool{}
	for i, m := range messages {
		if m.role == "tool" || i == last {
			continue // what a tool returns binds nobody
		}
		for _, sentence := range sentencesOf(m.text) {
			if known[sentence] || len(sentence) > 400 || !binds(sentence) && !asks(sentence) {
				continue
			}
			known[sentence] = true
			q := quote{text: sentence, place: len(quotes)}
			for _, t := range lex([]string{sentence}).tokens {
				if t.mark&markFiller == 0 && words[t.fold] {
					q.touch++
				}
			}
			quotes = append(quotes, q)
		}
	}
	slices.SortStableFunc(quotes, func(a, b quote) int {
		return cmp.Or(cmp.Compare(b.touch, a.touch), cmp.Compare(a.place, b.place))
	})
	quotes = quotes[:min(len(quotes), genericQuotes)]
	slices.SortFunc(quotes, func(a, b quote) int { return cmp.Compare(a.place, b.place) })

	var b strings.Builder
	if short := firstWords(topic, 12); short != "" {
		b.WriteString("About \"" + short + "\": noted.")
	} else {
		b.WriteString("Noted.")
	}
	if last >= 0 {
		for _, m := range messages[last+1:] {
			if m.role == "tool" {
				if lines := sentencesOf(m.text); len(lines) > 0 {
					b.WriteString("\nFound: " + firstWords(lines[0], sentenceWords))
				}
			}
		}
	}
	if len(quotes) == 0 {
		b.WriteString("\nNothing that I can see binds me further.")
		return b.String()
	}
	b.WriteString("\nStill in force:")
	for _, q := range quotes {
		b.WriteString("\n- " + q.text)
	}
	return b.String()
}
