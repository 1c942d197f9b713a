package model

import (
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"
)

// The parts of a text have as many tokens as the whole, in every vocabulary.
func TestWordsHaveTheTokensOfTheWhole(t *testing.T) {
	var codecs []tokenizer.Codec
	for _, name := range []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase, tokenizer.P50kBase, tokenizer.R50kBase} {
		codec, err := tokenizer.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		codecs = append(codecs, codec)
	}
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{" ", "  ", "\n", " \n ", "\t", "\r\n", "\u00a0", "a", "don't", "'s", "fooBar", "ABC", "x", "12", "3456", "...", ")", "(", "_", "-", "/", "é", "é", "日本", "ß", "🙂", " the", " be", "{\"a\": b}", "\u2028", "İ"}),
		rapid.StringN(0, 4, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
		for _, codec := range codecs {
			whole, err := codec.Count(text)
			if err != nil {
				t.Fatal(err)
			}
			sum, joined := 0, ""
			for part := range words(text) {
				n, err := codec.Count(part)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
				joined += part
			}
			if sum != whole || joined != text {
				t.Fatalf("%s: %q has %d tokens, its parts %d; they join to %q", codec.GetName(), text, whole, sum, joined)
			}
		}
	})
}
