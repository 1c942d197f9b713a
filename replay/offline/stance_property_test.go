package offline

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The words of generated claims and of the noise around them share nothing.
func claimWords() []string {
	return strings.Fields("invoice ledger gateway replica bucket schema cutover pipeline tenant webhook quota shard canary token index firewall")
}

func noiseWords() []string {
	return strings.Fields("sunny window lamp garden river stone paper violin orange kettle meadow lantern")
}

func drawClaim(t *rapid.T) []string {
	words := slices.Clone(claimWords())
	rapid.Permutation(words).Draw(t, "words")
	words = rapid.Permutation(words).Draw(t, "order")
	return words[:rapid.IntRange(3, 8).Draw(t, "length")]
}

func drawNoise(t *rapid.T, label string) []string {
	sentence := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(noiseWords()), 2, 9).Draw(t, "noise"), " ") + "."
	})
	return rapid.SliceOfN(sentence, 0, 6).Draw(t, label)
}

func TestStanceDroppedIsAbsent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claim := "never " + strings.Join(drawClaim(t), " ")
		if got := Stance(drawNoise(t, "noise"), claim); got != Absent {
			t.Fatalf("%q: have %s", claim, got)
		}
	})
}

func TestStanceWrappedIsSupported(t *testing.T) {
	prefixes := []string{"", "The user said: ", "Constraint (turn 3): ", "Remember that ", "- ", "> ", "1. ", "Note: ", "**Rule**: ", "[turn 7 user] ", "As agreed, "}
	suffixes := []string{"", ".", " (turn 12)", ", as the user said", " please", "; the rest is free", "!"}
	rapid.Check(t, func(t *rapid.T) {
		claim := rapid.SampledFrom([]string{"never ", "always ", "do not ", ""}).Draw(t, "marker") + strings.Join(drawClaim(t), " ")
		context := append(drawNoise(t, "before"), rapid.SampledFrom(prefixes).Draw(t, "prefix")+claim+rapid.SampledFrom(suffixes).Draw(t, "suffix"))
		context = append(context, drawNoise(t, "after")...)
		if got := Stance(context, claim); got != Supported {
			t.Fatalf("%q in %q: have %s", claim, context, got)
		}
		if got := Stance([]string{strings.Join(context, "\n")}, claim); got != Supported {
			t.Fatalf("%q in one text %q: have %s", claim, context, got)
		}
	})
}

func TestStanceParaphraseIsSupported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := drawClaim(t)
		marker := rapid.SampledFrom([]string{"never ", ""}).Draw(t, "marker")
		kept := rapid.Permutation(slices.Clone(words)).Draw(t, "kept")
		kept = kept[:(len(words)*6+9)/10]
		context := append(drawNoise(t, "noise"), marker+strings.Join(kept, " ")+".")
		if got := Stance(context, marker+strings.Join(words, " ")); got != Supported {
			t.Fatalf("%q in %q: have %s", words, context, got)
		}
	})
}

func TestStanceNegationFlips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(drawClaim(t), " ")
		negator := rapid.SampledFrom([]string{"never ", "do not ", "don't ", "under no circumstances ", "it is forbidden to "}).Draw(t, "negator")
		noise := drawNoise(t, "noise")
		if got := Stance(append(noise, negator+text+"."), text); got != Contradicted {
			t.Fatalf("%q + %q against the plain claim: have %s", negator, text, got)
		}
		if got := Stance(append(noise, text+"."), negator+text); got != Contradicted {
			t.Fatalf("plain %q against %q: have %s", text, negator, got)
		}
		if got := Stance(append(noise, negator+text+"."), "never "+text); got != Supported {
			t.Fatalf("%q + %q against never: have %s", negator, text, got)
		}
	})
}

func TestStanceHedgeFlips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(drawClaim(t), " ")
		hedge := rapid.SampledFrom([]string{"maybe ", "ideally ", "I suspect ", "perhaps, "}).Draw(t, "hedge")
		if got := Stance([]string{hedge + text}, text); got != Contradicted {
			t.Fatalf("hedged %q against the plain claim: have %s", text, got)
		}
		if got := Stance([]string{text}, hedge+text); got != Contradicted {
			t.Fatalf("plain against the hedged %q: have %s", text, got)
		}
	})
}

func TestStanceOrderOfTextsIsIrrelevant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := drawClaim(t)
		claim := "never " + strings.Join(words, " ")
		texts := append(drawNoise(t, "noise"),
			rapid.SampledFrom([]string{"never ", "always ", "maybe "}).Draw(t, "marker")+strings.Join(words[:len(words)-1], " ")+".",
			rapid.SampledFrom([]string{"never ", "you may ", ""}).Draw(t, "other")+strings.Join(words[1:], " ")+".")
		want := Stance(texts, claim)
		if got := Stance(rapid.Permutation(texts).Draw(t, "permutation"), claim); got != want {
			t.Fatalf("%q: have %s, in another order %s", texts, want, got)
		}
	})
}

func FuzzStance(f *testing.F) {
	for _, c := range stanceCases() {
		f.Add(c.context, c.claim)
	}
	f.Add("\xff\xfe `", "\x00")
	f.Fuzz(func(t *testing.T, context, claim string) {
		first := Read(context).Find(claim)
		if first != Read(context).Find(claim) {
			t.Fatal("two answers to one question")
		}
		if first.Coverage < 0 || first.Coverage > 1 {
			t.Fatalf("coverage %v", first.Coverage)
		}
		switch first.Verdict {
		case Supported, Absent, Contradicted:
		default:
			t.Fatalf("verdict %q", first.Verdict)
		}
		if strings.ToUpper(context) == strings.ToLower(context) {
			return
		}
		reading := Read(context, context)
		for i, s := range reading.segments {
			if s.first >= s.last || i > 0 && s.first != reading.segments[i-1].last {
				t.Fatalf("segments do not tile the tokens: %+v", reading.segments)
			}
		}
	})
}
