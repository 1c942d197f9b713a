package pairing

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// longestReviewer is how many characters a reviewer's name may have.
const longestReviewer = 100

var (
	errNobody  = errors.New("nobody is named: say who decides")
	errBadName = fmt.Errorf("want a name of at most %d printable characters", longestReviewer)
)

// ReviewerName is the name of a reviewer or rater as it is kept: in Unicode's form NFC and
// without spaces around it. It is an error if nothing is left, if it has a character that
// can't be printed, or more than 100.
func ReviewerName(typed string) (string, error) {
	if !utf8.ValidString(typed) {
		return "", fmt.Errorf("reviewer %.40q: %w", typed, errBadName)
	}
	name := norm.NFC.String(strings.TrimSpace(typed))
	if name == "" {
		return "", errNobody
	}
	if utf8.RuneCountInString(name) > longestReviewer || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return "", fmt.Errorf("reviewer %.40q: %w", typed, errBadName)
	}
	return name, nil
}

// SameReviewer says whether two names are those of one reviewer: however they are
// capitalised.
func SameReviewer(a, b string) bool { return a == b || ReviewerKey(a) == ReviewerKey(b) }

// ReviewerKey is the same for all spellings of a reviewer's name.
func ReviewerKey(name string) string {
	name = strings.TrimSpace(name)
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
		}
	}
	return strings.ToLower(name)
}
