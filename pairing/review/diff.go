package review

import (
	"unicode"
	"unicode/utf8"
)

// differing marks what two texts do not have in common, by words.
func differing(a, b string) (inA, inB []mark) {
	if a == b {
		return nil, nil
	}
	// What is the same at both ends needs no comparing.
	start := 0
	for start < min(len(a), len(b)) && a[start] == b[start] {
		start++
	}
	start = wordStart(a, b, start)
	end := 0
	for end < min(len(a), len(b))-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	end = wordEnd(a, b, start, end)
	x, y := a[start:len(a)-end], b[start:len(b)-end]
	const mostWords = 600
	p, q := words(x, mostWords), words(y, mostWords)
	if p == nil || q == nil {
		return span(start, len(x)), span(start, len(y))
	}
	keptA, keptB := sameWords(p, q)
	return unkept(p, keptA, start), unkept(q, keptB, start)
}

func span(from, length int) []mark {
	if length == 0 {
		return nil
	}
	return []mark{{from, from + length, markDiffers}}
}

// wordStart moves back to before the word in which two texts part.
func wordStart(a, b string, at int) int {
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(a[:at])
		if !inWord(r) && (at == len(a) || utf8.RuneStart(a[at])) && (at == len(b) || utf8.RuneStart(b[at])) {
			return at
		}
		at -= size
	}
	return 0
}

// wordEnd shortens a common end of so many bytes to where a word ends.
func wordEnd(a, b string, start, end int) int {
	for end > 0 {
		r, size := utf8.DecodeRuneInString(a[len(a)-end:])
		if utf8.RuneStart(a[len(a)-end]) && utf8.RuneStart(b[len(b)-end]) && !inWord(r) {
			return end
		}
		end -= min(size, end)
	}
	return 0
}

func inWord(r rune) bool {
	return r == utf8.RuneError || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r)
}

// words cuts a text into words and what is between them, or returns nil where there are
// more than most.
func words(text string, most int) []string {
	list := []string{}
	at := 0
	for at < len(text) {
		if len(list) == most {
			return nil
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		end := at + size
		for inWord(r) && end < len(text) {
			next, size := utf8.DecodeRuneInString(text[end:])
			if !inWord(next) {
				break
			}
			end += size
		}
		list = append(list, text[at:end])
		at = end
	}
	return list
}

// sameWords says which words of two lists belong to a longest common subsequence.
func sameWords(a, b []string) (inA, inB []bool) {
	left := make([][]int, len(a)+1)
	for i := range left {
		left[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				left[i][j] = 1 + left[i+1][j+1]
			} else {
				left[i][j] = max(left[i+1][j], left[i][j+1])
			}
		}
	}
	inA, inB = make([]bool, len(a)), make([]bool, len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			inA[i], inB[j] = true, true
			i, j = i+1, j+1
		case left[i+1][j] >= left[i][j+1]:
			i++
		default:
			j++
		}
	}
	return inA, inB
}

// unkept marks the words that are not kept, beginning at a byte.
func unkept(words []string, kept []bool, at int) []mark {
	var out []mark
	for i, w := range words {
		if !kept[i] {
			if n := len(out); n > 0 && out[n-1].to == at {
				out[n-1].to = at + len(w)
			} else {
				out = append(out, mark{at, at + len(w), markDiffers})
			}
		}
		at += len(w)
	}
	return out
}
