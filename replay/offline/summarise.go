package offline

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The habits of the hurried summariser.
const (
	sentenceWords = 24 // of a sentence that it reads
	filesKept     = 10
)

// summaryOpening is how a message begins that stands in for what was compacted.
const summaryOpening = "summary of the conversation so far"

// entry is one message of a transcript.
type entry struct {
	role string // user, assistant, calls, tool
	text string // for calls, the arguments
}

// transcript is what a summariser is asked to summarise.
type transcript struct {
	entries  []entry
	verbatim bool // the instructions ask for constraints word for word
	budget   int  // tokens that the instructions allow, or 0
}

// summariser writes summaries as someone in a hurry does: the first sentence of
// every message, without its doubts. It is immutable.
type summariser struct {
	marker    *regexp.Regexp // begins an entry of a transcript
	atMost    *regexp.Regexp // a budget in the instructions
	doubt     *regexp.Regexp // "..., but it is not confirmed"
	hedge     *regexp.Regexp // words that weaken
	aside     *regexp.Regexp // the same between commas: ", I suspect,"
	softVerb  *regexp.Regexp // might be, could be
	proposal  *regexp.Regexp // I recommend
	proviso   *regexp.Regexp // ..., but it is your call
	speaker   *regexp.Regexp // Human: ..., in foreign transcripts
	asksFor   *regexp.Regexp // summarise, compact
	aboutTalk *regexp.Regexp // the conversation, the history
	exactly   *regexp.Regexp // verbatim, word for word
}

func newSummariser() *summariser {
	const (
		unsure = `(?:not (?:yet )?(?:confirmed|verified|certain|sure|proven)|unconfirmed|unverified)(?: (?:yet|so far|as yet|at this point))?`
		copula = `(?:it is|it's|that is|that's|this is|which is|i am|i'm|still|as yet)`
	)
	const hedges = `(?:i (?:think|believe|guess|assume|suppose|suspect)(?: that)?|we suspect(?: that)?|my guess is(?: that)?|` +
		`it (?:seems|looks like|appears)(?: that)?|for now|for the time being|for the moment|if possible|if convenient|when convenient|where possible|` +
		`it would be nice to|would be nice to|try to|probably|maybe|perhaps|possibly|presumably|likely|ideally|preferably|apparently|` +
		`tentatively|hopefully|optionally|vielleicht|wahrscheinlich|vermutlich|quizás|probablemente)`
	return &summariser{
		marker:   regexp.MustCompile(`^\[turn (\d+) (user|assistant|system|tool [^\]\n]*|assistant calls [^\]\n]*)\] ?`),
		atMost:   regexp.MustCompile(`(?i)\bat most (\d[\d,]*) tokens`),
		doubt:    regexp.MustCompile(`(?i)[\s,;(–—-]*(?:\b(?:but|though|although|and|yet)\s+)?(?:` + copula + `\s+)*\b` + unsure + `\b\)?`),
		softVerb: regexp.MustCompile(`(?i)\b(?:might|may|could) be\b|\b(?:seems|appears) to be\b|\blooks like it is\b`),
		hedge:    regexp.MustCompile(`(?i)\b` + hedges + `\b`),
		aside:    regexp.MustCompile(`(?i),\s*` + hedges + `\s*,`),
		proposal: regexp.MustCompile(`(?i)\b(?:(?:i|we)(?: would|'d|’d)?(?: strongly| still)? (?:recommend|suggest|propose|lean towards?|lean to|opt for|go (?:with|for)|prefer)|` +
			`i(?:'m| am) (?:leaning towards?|inclined to)|my (?:recommendation|suggestion|preference|advice)(?: is|:)|` +
			`the recommended (?:option|choice|way|one) is)(?: that we| that you| we| to)?\b:?`),
		proviso: regexp.MustCompile(`(?i)[,;:(–—-]\s*(?:but|though|although|if|unless|let me know|your call|it'?s|it is|up to you|pending|subject to|what|which|do you|does that|would you|shall|should|waiting|and wait)\b`),
		speaker: regexp.MustCompile(`(?i)^(human|user|ai|assistant|tool|function)\s*:\s*`),
		asksFor: regexp.MustCompile(`(?i)\b(?:summari[sz]e[sd]?|summari[sz]ing|summary|compaction|condens(?:e|es|ing)|` +
			`(?:compact|compress)(?:ing)?(?: (?:the|this|our|all|these|older|long))?(?: \w+)? (?:conversation|histor(?:y|ies)|context|chats?|messages|transcript|session|dialogue))\b`),
		aboutTalk: regexp.MustCompile(`(?i)\b(?:conversation|history|transcript|chat|messages|dialogue|session|context|discussion|above|so far)\b`),
		exactly:   regexp.MustCompile(`(?i)\b(?:verbatim|word for word|word-for-word)\b`),
	}
}

// transcript recognises a request to summarise by the conversation block of its
// last user message.
func (s *summariser) transcript(req *chatRequest, last int) (*transcript, bool) {
	text := req.Messages[last].text
	b, ok := findBlock(text, "conversation", "", 0)
	if !ok {
		return nil, false
	}
	t := &transcript{entries: s.parse(b.inner)}
	s.instructions(t, text[:b.begin]+"\n"+text[b.end:])
	for _, m := range req.Messages {
		if m.role == "system" || m.role == "developer" {
			s.instructions(t, m.text)
		}
	}
	return t, true
}

// instructions takes from a text what it asks of the summary.
func (s *summariser) instructions(t *transcript, text string) {
	for _, at := range s.exactly.FindAllStringIndex(text, -1) {
		before := text[:at[0]]
		before = before[strings.LastIndexAny(before, ".!?;\n")+1:]
		if !negativeText(before) {
			t.verbatim = true
		}
	}
	if m := s.atMost.FindStringSubmatch(text); m != nil {
		if n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")); err == nil && n > 0 && (t.budget == 0 || n < t.budget) {
			t.budget = n
		}
	}
}

func negativeText(text string) bool {
	negators := 0
	for _, token := range lex([]string{text}).tokens {
		if token.mark&markNegates != 0 {
			negators++
		}
	}
	return negators%2 == 1
}

// parse reads transcript lines: [turn N user] text, [turn N assistant] text,
// [turn N assistant calls NAME] {json}, [turn N tool NAME] text. Lines without a
// marker belong to the entry before them.
func (s *summariser) parse(text string) []entry {
	var entries []entry
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		m := s.marker.FindStringSubmatch(line)
		if m == nil {
			if n := len(entries); n > 0 {
				// The writer indents lines that would look like a marker.
				if rest, ok := strings.CutPrefix(line, "  "); ok && strings.HasPrefix(rest, "[turn ") {
					line = rest
				}
				entries[n-1].text += "\n" + line
			}
			continue
		}
		kind := m[2]
		switch {
		case strings.HasPrefix(kind, "assistant calls"):
			kind = "calls"
		case strings.HasPrefix(kind, "tool"):
			kind = "tool"
		}
		entries = append(entries, entry{kind, line[len(m[0]):]})
	}
	return entries
}

// foreign recognises other clients' requests to summarise: no tools, and the
// system message or the last user message asks for a summary of the conversation.
func (s *summariser) foreign(req *chatRequest, last int) (*transcript, bool) {
	if len(req.Tools) > 0 {
		return nil, false
	}
	asked := -1
	if last >= 0 && s.wants(req.Messages[last].text) {
		asked = last
	}
	bySystem := false
	for _, m := range req.Messages {
		bySystem = bySystem || (m.role == "system" || m.role == "developer") && s.wants(m.text)
	}
	if asked < 0 && !bySystem {
		return nil, false
	}
	t := &transcript{}
	for i, m := range req.Messages {
		switch {
		case m.role == "system" || m.role == "developer":
			s.instructions(t, m.text)
		case i == asked:
			s.instructions(t, m.text)
		default:
			if strings.TrimSpace(m.text) != "" {
				t.entries = append(t.entries, entry{m.role, m.text})
			}
			for _, c := range m.calls {
				t.entries = append(t.entries, entry{"calls", c.arguments})
			}
		}
	}
	if len(t.entries) == 0 && asked >= 0 || len(t.entries) == 1 && bySystem {
		t.entries = s.spoken(req.Messages[last].text)
	}
	return t, true
}

// wants says whether a text asks for a summary of a conversation: in a short text
// the word is enough.
func (s *summariser) wants(text string) bool {
	at := s.asksFor.FindStringIndex(text)
	if at == nil || strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), summaryOpening) {
		return false
	}
	return s.aboutTalk.MatchString(text) || at[0] < 8 && len(text) < 200
}

// spoken reads a transcript that a foreign client put into one message, with a
// speaker before each line; a text without speakers is what the user said.
func (s *summariser) spoken(text string) []entry {
	var entries []entry
	for line := range strings.SplitSeq(text, "\n") {
		if m := s.speaker.FindStringSubmatch(line); m != nil {
			role := "user"
			switch strings.ToLower(m[1]) {
			case "ai", "assistant":
				role = "assistant"
			case "tool", "function":
				role = "tool"
			}
			entries = append(entries, entry{role, line[len(m[0]):]})
		} else if n := len(entries); n > 0 {
			entries[n-1].text += "\n" + line
		}
	}
	if len(entries) == 0 {
		return []entry{{"user", text}}
	}
	return entries
}

// draft is a summary before it is cut to its budget.
type draft struct {
	goal        string
	constraints []string
	lines       []string // oldest first
	files       []string // latest first
}

// reply writes the summary. limit is the most tokens that the request allows, or 0.
func (s *summariser) reply(t *transcript, limit int) reply {
	d := s.read(t)
	budget := t.budget
	if limit > 0 && (budget == 0 || limit < budget) {
		budget = limit
	}
	return reply{text: d.write(budget), finish: "stop"}
}

// read goes through the transcript.
func (s *summariser) read(t *transcript) draft {
	var d draft
	for _, e := range t.entries {
		switch e.role {
		case "user":
			if isSummary(e.text) {
				s.carry(&d, e.text, t.verbatim)
				continue
			}
			sentences := sentencesOf(e.text)
			if t.verbatim {
				for _, sentence := range sentences {
					if binds(sentence) && !slices.Contains(d.constraints, sentence) {
						d.constraints = append(d.constraints, sentence)
					}
				}
			}
			if len(sentences) == 0 {
				continue
			}
			if line := s.harden(sentences[0]); d.goal == "" {
				d.goal = line
			} else if line != "" {
				d.lines = append(d.lines, "User: "+line)
			}
		case "assistant":
			d.lines = append(d.lines, s.assistant(e.text)...)
		case "calls":
			for _, path := range argumentPaths(e.text) {
				d.files = slices.DeleteFunc(d.files, func(old string) bool { return old == path })
				d.files = slices.Insert(d.files, 0, path)
			}
		}
	}
	if len(d.files) > filesKept {
		d.files = d.files[:filesKept]
	}
	return d
}

// assistant writes what is left of a message of the assistant: its first sentence,
// and its first recommendation as a decision.
func (s *summariser) assistant(text string) []string {
	var lines []string
	for i, sentence := range sentencesOf(text) {
		if decided := s.decision(sentence); decided != "" {
			return append(lines, decided)
		}
		if i == 0 {
			if line := s.harden(sentence); line != "" {
				lines = append(lines, "Assistant: "+line)
			}
		}
	}
	return lines
}

// decision turns a sentence that recommends into one that decided, or returns "".
func (s *summariser) decision(sentence string) string {
	at := s.proposal.FindStringIndex(sentence)
	if at == nil {
		return ""
	}
	rest := sentence[at[1]:]
	if cut := s.proviso.FindStringIndex(rest); cut != nil {
		rest = rest[:cut[0]]
	}
	if strings.TrimFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) == "" {
		rest = sentence[:at[0]] // "Option B is what I recommend."
	}
	rest = strings.TrimSpace(s.soften(rest))
	if rest = firstWords(strings.TrimRight(rest, ".!?,;: "), sentenceWords); rest == "" {
		return ""
	}
	return "Decided: " + rest + "."
}

// harden takes the doubts out of a sentence and cuts it short.
func (s *summariser) harden(sentence string) string {
	return firstWords(capitalised(s.soften(sentence)), sentenceWords)
}

// soften takes the hedges out of a text and tidies what is left.
func (s *summariser) soften(text string) string {
	clean := s.doubt.ReplaceAllString(text, "")
	clean = s.softVerb.ReplaceAllString(clean, "is")
	clean = s.aside.ReplaceAllString(clean, "")
	clean = s.hedge.ReplaceAllString(clean, "")
	if clean == text {
		return text
	}
	clean = strings.Join(strings.Fields(clean), " ")
	for _, fix := range [][2]string{{" ,", ","}, {" .", "."}, {" ;", ";"}, {" :", ":"}, {" ?", "?"}, {"( ", "("}, {" )", ")"}, {"()", ""}, {",,", ","}, {",.", "."}, {": ,", ":"}, {" is is ", " is "}} {
		clean = strings.ReplaceAll(clean, fix[0], fix[1])
	}
	return strings.TrimLeft(clean, " ,;:–—")
}

func capitalised(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 || !unicode.IsLower(r) {
		return text
	}
	return string(unicode.ToUpper(r)) + text[size:]
}

// isSummary says whether a message stands in for what was compacted before.
func isSummary(text string) bool {
	head := strings.TrimLeft(text, " \t\n#*[(<")
	return len(head) >= len(summaryOpening) && strings.EqualFold(head[:len(summaryOpening)], summaryOpening)
}

// carry takes an earlier summary over, line by line.
func (s *summariser) carry(d *draft, text string, verbatim bool) {
	section := ""
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		body := strings.TrimSpace(trimBullet(line))
		switch {
		case body == "":
		case i == 0:
			if _, rest, _ := strings.Cut(body, ":"); strings.TrimSpace(rest) != "" {
				d.lines = append(d.lines, strings.TrimSpace(rest))
			}
		case strings.HasSuffix(body, ":"):
			section = strings.ToLower(strings.TrimRight(body, ":"))
		case strings.HasPrefix(body, "Goal:"):
			if goal := strings.TrimSpace(strings.TrimPrefix(body, "Goal:")); d.goal == "" {
				d.goal = goal
			}
		case section == "files" && !strings.Contains(body, " "):
			if !slices.Contains(d.files, body) {
				d.files = append(d.files, body)
			}
		case section == "constraints" && verbatim:
			if !slices.Contains(d.constraints, body) {
				d.constraints = append(d.constraints, body)
			}
		default:
			d.lines = append(d.lines, body)
		}
	}
}

// write writes the draft, cut to the budget in tokens where it is not 0: the goal
// first, then the constraints, then the latest lines, the files in a quarter of it,
// and the oldest lines with what is left.
func (d *draft) write(budget int) string {
	goal := d.goal
	if goal == "" {
		goal = "(nothing was said)"
	}
	head := "Goal: " + goal
	if budget > 0 {
		head = cutTokens(head, budget)
	}
	left := budget - CountTokens(head) - 12 // for the titles of the sections
	fit := func(line string, allowance *int) bool {
		if budget == 0 {
			return true
		}
		cost := CountTokens("- "+line) + 1
		if cost > *allowance {
			return false
		}
		*allowance -= cost
		left -= cost
		return true
	}
	latest := func(lines []string) []string {
		for i := len(lines) - 1; i >= 0; i-- {
			room := left
			if !fit(lines[i], &room) {
				return lines[i+1:]
			}
		}
		return lines
	}
	constraints := latest(d.constraints)
	var files []string
	quarter := max(left, 0) / 4
	for _, file := range d.files {
		if !fit(file, &quarter) {
			break
		}
		files = append(files, file)
	}
	lines := latest(d.lines)

	var b strings.Builder
	b.WriteString(head)
	for _, section := range []struct {
		title string
		lines []string
	}{{"Constraints", constraints}, {"Conversation", lines}, {"Files", files}} {
		if len(section.lines) == 0 {
			continue
		}
		b.WriteString("\n\n" + section.title + ":")
		for _, line := range section.lines {
			b.WriteString("\n- " + line)
		}
	}
	return b.String()
}

// argumentPaths are the paths in the arguments of a call, in the order of their
// keys.
func argumentPaths(arguments string) []string {
	var fields map[string]any
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return nil
	}
	var paths []string
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		value, ok := fields[key].(string)
		if !ok || value == "" || len(value) > 200 || strings.ContainsAny(value, " \n\t") {
			continue
		}
		if isPathKey(key) || looksLikePath(value) {
			paths = append(paths, value)
		}
	}
	return paths
}

func isPathKey(key string) bool {
	switch strings.ToLower(key) {
	case "path", "file", "file_path", "filepath", "filename", "file_name", "dir", "directory":
		return true
	}
	return false
}

// looksLikePath says whether a word is a path: it has a slash, or a name and an
// extension.
func looksLikePath(word string) bool {
	if strings.Contains(word, "://") || strings.ContainsAny(word, "<>|\"'`*?=;,(){}") {
		return false
	}
	if strings.Contains(word, "/") {
		parts := strings.FieldsFunc(word, func(r rune) bool { return r == '/' })
		return len(parts) > 0 && strings.IndexFunc(word, unicode.IsLetter) >= 0 && (len(parts) > 1 || len(parts[0]) > 1)
	}
	dot := strings.LastIndexByte(word, '.')
	if dot < 1 || dot == len(word)-1 || len(word)-dot > 6 {
		return false
	}
	for _, r := range word[dot+1:] {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}
