package mutant

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// value is something in a literal that can be out of date: a path, a name with digits, a
// number.
var value = regexp.MustCompile("`?[\\pL\\d_./:#@-]*(?:\\d|/|_|\\.\\pL)[\\pL\\d_./:#@-]*`?")

func staleItem(s *Site, id string) (*change, string) {
	item := s.Fixture.Item(id)
	if old := s.predecessor(item); old != nil {
		return s.put(id, old.Literal)
	}
	for _, now := range value.FindAllString(item.Literal, -1) {
		now = strings.Trim(now, "`.,:;-")
		if len(now) == 0 || !strings.ContainsFunc(now, func(r rune) bool { return unicode.IsDigit(r) || r == '/' || r == '_' || r == '.' }) {
			continue
		}
		if old := s.stale(item, now); old != "" && old != now {
			return s.put(id, strings.Replace(item.Literal, now, old, 1))
		}
	}
	return nil, "the item holds no value that could be stale"
}

// predecessor is the item that this one took the place of, or nil.
func (s *Site) predecessor(item *fixtures.Item) *fixtures.Item {
	for i := range s.Fixture.MustSurvive {
		if old := &s.Fixture.MustSurvive[i]; old.SupersededBy == item.ID {
			return old
		}
	}
	return nil
}

// stale is another value of the same shape that the conversation named before the item
// was stated; where there is none, the number before.
func (s *Site) stale(item *fixtures.Item, now string) string {
	for _, m := range s.Request.Messages {
		if m.Turn > item.Turn {
			break
		}
		for _, other := range value.FindAllString(m.Content, -1) {
			if other = strings.Trim(other, "`.,:;-"); other != now && shape(other) == shape(now) && !strings.Contains(item.Literal, other) {
				return other
			}
		}
	}
	digits := regexp.MustCompile(`\d+`).FindAllStringIndex(now, -1)
	if len(digits) == 0 {
		return ""
	}
	last := digits[len(digits)-1]
	n, err := strconv.Atoi(now[last[0]:last[1]])
	if err != nil {
		return ""
	}
	before := strconv.Itoa(n - 1)
	if n == 0 {
		before = "1"
	}
	if missing := last[1] - last[0] - len(before); missing > 0 {
		before = strings.Repeat("0", missing) + before
	}
	return now[:last[0]] + before + now[last[1]:]
}

// shape is a value with every run of letters and of digits made one sign. A value
// without a sign among them has its length, too.
func shape(value string) string {
	var b []byte
	for _, r := range value {
		c := byte(r)
		switch {
		case unicode.IsDigit(r):
			c = '9'
		case unicode.IsLetter(r):
			c = 'a'
		case r > unicode.MaxASCII:
			c = '?'
		}
		if n := len(b); n == 0 || b[n-1] != c || c == '9' {
			b = append(b, c)
		}
	}
	return string(slices.Clip(b))
}
