package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// gap is what separates a token from the one before it.
type gap uint8

const (
	gapNone   gap = iota // a space, or a joint inside an identifier
	gapClause            // a comma, colon, bracket, dash, or a word such as "but"
	gapHard              // the end of a sentence or of a line, or ", and"
	gapText              // the beginning of another text (message)
)

// kind is what an identifier-like token looks like. Two identifiers can stand in
// for one another only where they are of one kind.
type kind uint8

const (
	kindWord   kind = iota // no identifier
	kindName               // a capitalised word inside a sentence
	kindQuoted             // one word in backticks or quotes
	kindHyphen             // letters joined by hyphens
	kindNumber             // digits, perhaps with dots, colons and signs between them
	kindPath               // something with a slash
	kindDotted             // letters joined by dots, colons, underscores, @
	kindCode               // letters and digits mixed
)

// strong says whether a claim that lost every identifier of this kind has lost
// what it is about.
func (k kind) strong() bool { return k >= kindNumber }

// token is one alphanumeric word of a text.
type token struct {
	raw   string // lower-case, as written
	fold  string // stem or synonym that stands for it
	mark  mark
	gap   gap   // what stands before it
	ident int32 // 1 + index of the identifier it is part of, or 0
	part  bool  // of an identifier that is more than a word
	name  bool  // capitalised inside a sentence
	pos   int32 // where it begins, in bytes of its text
	text  int32 // which text
}

// ident is an identifier-like run of tokens.
type ident struct {
	first, last int32 // tokens, last exclusive
	kind        kind
}

// segment is a sentence or a line of a context.
type segment struct {
	first, last int32 // tokens, last exclusive
	question    bool  // it ends with a question mark
	head        mark  // marks of the heading that the line stands under
}

// maxSegment is the longest segment in tokens; a longer run of words (a minified
// file, a log line) is cut, so that no segment holds enough words to match anything.
const maxSegment = 80

// lexed is a list of texts cut into tokens and segments.
type lexed struct {
	texts    []string
	tokens   []token
	idents   []ident
	segments []segment
}

// lex cuts texts into tokens and segments and marks the words that carry polarity,
// strength and openness.
func lex(texts []string) *lexed {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	l := &lexer{lexed: lexed{texts: texts, tokens: make([]token, 0, size/5+8)}}
	for i, text := range texts {
		l.text(int32(i), text)
	}
	return &l.lexed
}

// lexer is the state of [lex].
type lexer struct {
	lexed
	src      string
	textNo   int32
	gap      gap   // before the next token
	first    int32 // first token of the open segment
	header   mark  // marks of the heading in force
	bullet   bool  // the open line is a list entry
	question bool
}

func (l *lexer) text(number int32, src string) {
	l.src, l.textNo, l.gap, l.header = src, number, gapText, 0
	for start := 0; start < len(src); {
		end := strings.IndexByte(src[start:], '\n')
		if end < 0 {
			end = len(src)
		} else {
			end += start
		}
		l.line(start, end)
		start = end + 1
	}
}

// line reads one line and closes its last segment.
func (l *lexer) line(start, end int) {
	line := l.src[start:end]
	body := trimBullet(line)
	plain := strings.TrimLeft(line, " \t>")
	l.bullet = len(body) < len(plain) && plain[0] != '#'
	at := start + len(line) - len(body)
	before := len(l.tokens)
	for at < end {
		r, size := utf8.DecodeRuneInString(l.src[at:end])
		if unicode.IsSpace(r) {
			at += size
			continue
		}
		at = l.chunk(at, end)
	}
	colon := strings.HasSuffix(strings.TrimRight(body, " \t\r*_#"), ":")
	heading := colon || strings.HasPrefix(plain, "#")
	l.close(gapHard)
	switch {
	case heading && len(l.tokens) > before && len(l.tokens)-before <= 8:
		l.header = headingMarks(l.tokens[before:])
	case !l.bullet && strings.TrimSpace(line) != "" && !heading:
		l.header = 0 // plain text again: the heading no longer governs
	}
}

// headingMarks are the marks that a heading hands to the list under it. It negates
// or weakens only where it says little else: "Do not:", "Optional:", but not
// "Constraints that must not be broken:".
func headingMarks(tokens []token) mark {
	var m mark
	content := 0
	for i := range tokens {
		m |= tokens[i].mark & headMarks
		if tokens[i].mark&markFiller == 0 {
			content++
		}
	}
	if content > 1 {
		m &^= markNegates | markHedge
	}
	return m
}

// chunk reads the run of non-space characters at start and returns its end.
func (l *lexer) chunk(start, end int) int {
	stop := end
	for i, r := range l.src[start:end] {
		if unicode.IsSpace(r) {
			stop = start + i
			break
		}
	}
	chunk := l.src[start:stop]
	if isDash(chunk) || chunk == "|" {
		l.soft()
		return stop
	}
	var (
		firstToken = int32(len(l.tokens))
		at         = 0
		joined     = false // the next word continues the identifier
		runStart   = firstToken
		shape      chunkShape
	)
	flush := func() {
		l.identifier(runStart, shape)
		runStart, shape = int32(len(l.tokens)), chunkShape{}
	}
	for at < len(chunk) {
		r, size := utf8.DecodeRuneInString(chunk[at:])
		if isWordRune(r) {
			length := wordLength(chunk[at:])
			if !joined {
				flush()
				if at > 0 {
					shape.lead(chunk[:at])
				}
			}
			l.word(start+at, chunk[at:at+length])
			shape.word(chunk[at : at+length])
			at += length
			joined = false
			continue
		}
		// Everything up to the next word is a joint, or it separates.
		next := at + size
		for next < len(chunk) {
			r, size := utf8.DecodeRuneInString(chunk[next:])
			if isWordRune(r) {
				break
			}
			next += size
		}
		sep := chunk[at:next]
		if next < len(chunk) && int32(len(l.tokens)) > runStart && isJoint(sep) {
			joined = true
			shape.joint(sep)
		} else {
			if int32(len(l.tokens)) > runStart {
				shape.trail(sep)
			}
			flush()
			l.separator(chunk, sep, next == len(chunk), int32(len(l.tokens)) > firstToken)
		}
		at = next
	}
	flush()
	return stop
}

// separator turns punctuation into a gap.
func (l *lexer) separator(chunk, sep string, last, afterWord bool) {
	for _, r := range sep {
		switch r {
		case '.', '!', '?', ';', '…', '。', '！', '？', '；':
			ends := (last || r > unicode.MaxLatin1) && afterWord
			if r == '.' && ends && isAbbreviation(chunk) {
				continue
			}
			if r == '?' || r == '？' {
				l.question = l.question || ends
			}
			if ends {
				l.close(gapHard)
			}
		case ',', ':', '(', ')', '[', ']', '{', '}', '"', '“', '”', '„', '«', '»', '|', '—', '–', '，', '：', '<', '>', '→':
			l.soft()
		}
	}
}

func (l *lexer) soft() { l.gap = max(l.gap, gapClause) }

// close ends the open segment.
func (l *lexer) close(g gap) {
	if n := int32(len(l.tokens)); n > l.first {
		l.finish(n)
	}
	l.question = false
	l.gap = max(l.gap, g)
}

// finish marks the words of the open segment and stores it, cut where ", and"
// joins two statements or where it is too long.
func (l *lexer) finish(end int32) {
	markWords(l.tokens[l.first:end])
	l.question = l.question || asksByOrder(l.tokens[l.first:end])
	head := mark(0)
	if l.bullet {
		head = l.header
	}
	start := l.first
	for i := start + 1; i < end; i++ {
		t := &l.tokens[i]
		if (t.gap == gapClause && (t.raw == "and" || t.raw == "und" || t.raw == "y")) ||
			(t.gap == gapClause && i-start >= maxSegment/2) || i-start >= maxSegment {
			t.gap = max(t.gap, gapHard)
			l.segments = append(l.segments, segment{start, i, l.question, head})
			start = i
		}
	}
	l.segments = append(l.segments, segment{start, end, l.question, head})
	l.first = end
}

// asksByOrder says whether a sentence without a question mark offers a choice:
// "should it stay, or go".
func asksByOrder(tokens []token) bool {
	if len(tokens) < 4 {
		return false
	}
	switch second := tokens[1].raw; tokens[0].raw {
	case "should", "shall", "does", "is", "are":
	case "would":
		if second == "be" {
			return false
		}
	case "do":
		if second != "you" && second != "we" && second != "they" && second != "i" {
			return false
		}
	default:
		return false
	}
	for i := range tokens {
		if tokens[i].raw == "or" {
			return true
		}
	}
	return false
}

// word appends the tokens of one word: one, or two for a contraction.
func (l *lexer) word(pos int, word string) {
	r, _ := utf8.DecodeRuneInString(word)
	name := unicode.IsUpper(r) && l.gap == gapNone && len(l.tokens) > int(l.first) && word != "I"
	lower := word
	if hasUpper(word) {
		lower = strings.ToLower(word)
	}
	base, not := contraction(lower)
	if base != "" {
		l.append(token{raw: base, name: name, pos: int32(pos)})
	}
	if not {
		l.append(token{raw: "not", pos: int32(pos)})
	}
}

func (l *lexer) append(t token) {
	t.gap, t.text = l.gap, l.textNo
	l.gap = gapNone
	l.tokens = append(l.tokens, t)
}

// identifier records the tokens since first as one identifier where their shape
// says so.
func (l *lexer) identifier(first int32, shape chunkShape) {
	last := int32(len(l.tokens))
	if last <= first {
		return
	}
	k := shape.kind()
	if k == kindWord && last-first == 1 && l.tokens[first].name {
		k = kindName
	}
	if k == kindWord {
		return
	}
	l.idents = append(l.idents, ident{first, last, k})
	for i := first; i < last; i++ {
		l.tokens[i].ident = int32(len(l.idents))
		l.tokens[i].part = k > kindQuoted
	}
}

// chunkShape collects what a run of joined words looks like.
type chunkShape struct {
	words              int
	digits, letters    bool
	slash, dot, hyphen bool
	openQuote, quoted  bool
	option             bool // a command line option, --force
	long               bool // some word has more than one letter, and none is "and" or "or"
}

func (s *chunkShape) lead(before string) {
	switch before[len(before)-1] {
	case '/', '~', '\\':
		s.slash = true
	case '`', '\'', '"':
		s.openQuote = true
	}
	if strings.HasSuffix(before, "--") {
		s.option = true
	}
	if strings.HasSuffix(before, "#") {
		s.digits = true
	}
}

func (s *chunkShape) trail(after string) {
	switch after[0] {
	case '/':
		s.slash = true
	case '`', '\'', '"':
		s.quoted = s.openQuote && s.words == 1
	}
}

func (s *chunkShape) word(word string) {
	s.words++
	digits, letters := false, false
	for _, r := range word {
		if unicode.IsDigit(r) {
			digits = true
		} else {
			letters = true
		}
	}
	s.digits = s.digits || digits
	s.letters = s.letters || letters
	s.long = s.long || len(word) > 1 && word != "and" && word != "or"
}

func (s *chunkShape) joint(sep string) {
	for _, r := range sep {
		switch r {
		case '/', '\\':
			s.slash = true
		case '-':
			s.hyphen = true
		default:
			s.dot = true
		}
	}
}

func (s *chunkShape) kind() kind {
	switch {
	case s.words == 0:
		return kindWord
	case s.slash && s.letters && s.long:
		return kindPath
	case s.digits && !s.letters:
		return kindNumber
	case s.digits:
		return kindCode
	case s.dot:
		return kindDotted
	case s.hyphen && s.words > 1, s.option:
		return kindHyphen
	case s.quoted:
		return kindQuoted
	}
	return kindWord
}

// isJoint says whether the characters between two words of a chunk join them.
func isJoint(sep string) bool {
	if len(sep) > 3 {
		return false
	}
	for i := range len(sep) {
		switch sep[i] {
		case '-', '_', '.', '/', ':', '@', '\\', '#', '+', '=', '~':
		default:
			return false
		}
	}
	return true
}

func isDash(chunk string) bool {
	switch chunk {
	case "-", "--", "–", "—", "->", "=>", "→":
		return true
	}
	return false
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// isUnspaced says whether a letter belongs to a script that writes no spaces, of
// which every character is a token of its own.
func isUnspaced(r rune) bool {
	return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// wordLength is the length of the word at the beginning of s, which begins with a
// word rune. An apostrophe between letters belongs to the word.
func wordLength(s string) int {
	at := 0
	for at < len(s) {
		r, size := utf8.DecodeRuneInString(s[at:])
		if isUnspaced(r) {
			if at == 0 {
				return size
			}
			return at
		}
		if isWordRune(r) {
			at += size
			continue
		}
		if (r == '\'' || r == '’') && at > 0 {
			if next, _ := utf8.DecodeRuneInString(s[at+size:]); unicode.IsLetter(next) {
				at += size
				continue
			}
		}
		break
	}
	return at
}

// contraction splits a lower-case word at its apostrophe: don't is do and not.
func contraction(word string) (base string, not bool) {
	switch word {
	case "cannot", "cant":
		return "can", true
	case "dont":
		return "do", true
	case "doesnt":
		return "does", true
	case "didnt":
		return "did", true
	case "isnt":
		return "is", true
	case "wont":
		return "will", true
	case "mustnt":
		return "must", true
	case "shouldnt":
		return "should", true
	}
	cut := strings.IndexAny(word, "'’")
	if cut < 0 {
		return word, false
	}
	rest := strings.TrimLeft(word[cut:], "'’")
	base = word[:cut]
	if rest == "t" && strings.HasSuffix(base, "n") {
		switch base {
		case "can":
			return "can", true
		case "won":
			return "will", true
		case "shan":
			return "shall", true
		}
		return strings.TrimSuffix(base, "n"), true
	}
	if len(base) <= 2 && len(rest) > 2 { // l'ancien, d'abord, n'est
		return rest, false
	}
	return base, false
}

func hasUpper(word string) bool {
	for _, r := range word {
		if 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf && unicode.IsUpper(r) {
			return true
		}
	}
	return false
}

// isAbbreviation says whether the full stop of a chunk ends no sentence.
func isAbbreviation(chunk string) bool {
	word := strings.ToLower(strings.Trim(chunk, "()[]\"'*_`,"))
	switch word {
	case "e.g.", "i.e.", "vs.", "etc.", "approx.", "ca.", "resp.", "incl.", "excl.", "dr.", "mr.", "mrs.", "ms.",
		"z.b.", "d.h.", "bzw.", "usw.", "p.ej.", "rev.", "a.m.", "p.m.":
		return true
	}
	return false
}

// trimBullet takes the marks of lists, headings and quotes off the front of a line.
func trimBullet(line string) string {
	for {
		line = strings.TrimLeft(line, " \t>#")
		switch {
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "+ "):
			line = line[2:]
		case strings.HasPrefix(line, "• "):
			line = line[len("• "):]
		case strings.HasPrefix(line, "[ ] "), strings.HasPrefix(line, "[x] "):
			line = line[4:]
		default:
			digits := 0
			for digits < len(line) && digits < 3 && '0' <= line[digits] && line[digits] <= '9' {
				digits++
			}
			if digits > 0 && digits+1 < len(line) && (line[digits] == '.' || line[digits] == ')') && line[digits+1] == ' ' {
				line = line[digits+2:]
				continue
			}
			return line
		}
	}
}
