package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMcNemarGold(t *testing.T) {
	for _, row := range gold(t, "mcnemar.csv") {
		test, err := McNemar(row.int("b"), row.int("c"))
		if err != nil {
			t.Fatalf("line %d: %v", row.line, err)
		}
		row.relative("p_exact_two", test.PTwo, 1e-12)
		row.relative("p_exact_worse", test.PWorse, 1e-12)
		row.relative("p_exact_better", test.PBetter, 1e-12)
		row.relative("p_midp_two", test.PMidTwo, 1e-12)
		row.relative("p_midp_worse", test.PMidWorse, 1e-12)
		row.relative("p_midp_two_doubled", test.PMidTwoDoubled, 1e-12)
		row.optional("chi2", test.Chi2, 1e-13)
		row.optional("p_chi2", test.PChi2, 1e-12)
		row.optional("chi2_cc", test.Chi2Corrected, 1e-13)
		row.optional("p_chi2_cc", test.PChi2Corrected, 1e-12)
		row.relative("log10_p_exact_two", test.Log10PTwo, 1e-12)
	}
}

func TestMcNemarPublished(t *testing.T) {
	tests := []struct {
		losses, gains   int
		worse, two, mid float64
		attainable      bool
		reason          string
	}{
		{0, 0, 1, 1, 1, false, ReasonNoDiscordant},
		{1, 0, 0.5, 1, 0.25, false, ""},
		{2, 1, 0.5, 1, 0.3125, false, ""},
		{3, 0, 0.125, 0.25, 0.0625, false, ""},
		{4, 0, 0.0625, 0.125, 0.03125, false, ""}, // the fewest for mid-p
		{5, 0, 0.03125, 0.0625, 0.015625, true, ""},
		{6, 0, 0.015625, 0.03125, 0.0078125, true, ""},
		{0, 6, 1, 0.03125, 0.9921875, true, ""},
		{4, 4, 0.63671875, 1, 0.5, true, ""},
		{12, 3, 0.017578125, 0.03515625, 0.0106353759765625, true, ""},
	}
	for _, tt := range tests {
		got := must(McNemar(tt.losses, tt.gains))
		if got.PWorse != tt.worse || got.PTwo != tt.two || got.PMidWorse != tt.mid {
			t.Errorf("%d/%d: worse %v, two %v, mid %v, want %v, %v, %v", tt.losses, tt.gains,
				got.PWorse, got.PTwo, got.PMidWorse, tt.worse, tt.two, tt.mid)
		}
		if got.Attainable != tt.attainable || got.Reason != tt.reason {
			t.Errorf("%d/%d: attainable %v, reason %q, want %v, %q", tt.losses, tt.gains,
				got.Attainable, got.Reason, tt.attainable, tt.reason)
		}
		if undefined := tt.losses+tt.gains == 0; (got.Chi2 == nil) != undefined || (got.PChi2Corrected == nil) != undefined {
			t.Errorf("%d/%d: chi-square defined: %v", tt.losses, tt.gains, got.Chi2 != nil)
		}
	}
}

// The defects of other packages, from their issue trackers.
func TestMcNemarOthersDefects(t *testing.T) {
	// statsmodels 0.13.5 corrects equal counts the wrong way: 1/1 p = .4795.
	for _, n := range []int{1, 5} {
		got := must(McNemar(n, n))
		if *got.Chi2Corrected != 0 || *got.PChi2Corrected != 1 || got.PTwo != 1 || got.PMidTwoDoubled != 1 {
			t.Errorf("%d/%d: corrected %v, p %v, exact %v, mid %v", n, n,
				*got.Chi2Corrected, *got.PChi2Corrected, got.PTwo, got.PMidTwoDoubled)
		}
	}
	// 1-CDF is 1.1e-16 here (gonum's Survival).
	got := must(McNemar(100, 0))
	within(t, "p_worse(100, 0) * 2^100", got.PWorse*0x1p100, 1, 1e-13)
	// The four answers to 12/3, each under its own name.
	got = must(McNemar(12, 3))
	within(t, "exact", got.PTwo, 0.0352, 5e-5)
	within(t, "mid-p", got.PMidTwo, 0.0213, 5e-5)
	within(t, "asymptotic", *got.PChi2, 0.0201, 5e-5)
	within(t, "corrected", *got.PChi2Corrected, 0.0389, 5e-5)
}

func TestMcNemarUnderflow(t *testing.T) {
	got := must(McNemar(2000, 0))
	if got.PWorse != 0 || got.MinP != 0 {
		t.Errorf("p %v, min %v, want underflow", got.PWorse, got.MinP)
	}
	within(t, "log10 p", got.Log10PWorse, -2000*math.Log10(2), 1e-9)
	if got.Log10PTwo <= got.Log10PWorse {
		t.Errorf("log10 of the two-sided p %v is not above %v", got.Log10PTwo, got.Log10PWorse)
	}
}

func TestMcNemarErrors(t *testing.T) {
	for _, counts := range [][2]int{{-1, 0}, {0, -1}, {maxCount + 1, 0}, {0, math.MaxInt}} {
		if _, err := McNemar(counts[0], counts[1]); err == nil {
			t.Errorf("%v: no error", counts)
		}
	}
}

// count draws mostly small and sometimes large counts.
func count(t *rapid.T, name string) int {
	return rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 2000), rapid.IntRange(0, 1_000_000)).Draw(t, name)
}

func TestMcNemarSwap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		losses, gains := count(t, "losses"), count(t, "gains")
		x, y := must(McNemar(losses, gains)), must(McNemar(gains, losses))
		if x.PWorse != y.PBetter || x.PBetter != y.PWorse {
			t.Fatalf("one-sided values do not swap: %v, %v against %v, %v", x.PWorse, x.PBetter, y.PWorse, y.PBetter)
		}
		if x.PTwo != y.PTwo || x.PMidTwo != y.PMidTwo || x.PMidTwoDoubled != y.PMidTwoDoubled || x.Log10PTwo != y.Log10PTwo {
			t.Fatalf("two-sided values differ: %+v against %+v", x, y)
		}
		if losses+gains > 0 && (*x.PChi2 != *y.PChi2 || *x.Chi2Corrected != *y.Chi2Corrected) {
			t.Fatalf("chi-squares differ")
		}
	})
}

func TestMcNemarLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		losses, gains := count(t, "losses"), count(t, "gains")
		n := losses + gains
		test := must(McNemar(losses, gains))
		for _, p := range []float64{test.PWorse, test.PBetter, test.PTwo, test.PMidWorse, test.PMidTwo, test.PMidTwoDoubled} {
			if !(p >= 0 && p <= 1) {
				t.Fatalf("p value %v in %+v", p, test)
			}
		}
		for _, logP := range []float64{test.Log10PWorse, test.Log10PTwo} {
			if !(logP <= 0 && logP > math.Inf(-1)) {
				t.Fatalf("logarithm %v in %+v", logP, test)
			}
		}
		point := math.Exp(logBinomial(losses, n, 0.5, 0.5))
		if math.Abs(test.PWorse+test.PBetter-1-point) > 1e-12 {
			t.Fatalf("worse %v + better %v is not 1 + %v", test.PWorse, test.PBetter, point)
		}
		if test.PMidWorse > test.PWorse || test.PMidTwo > test.PTwo {
			t.Fatalf("mid-p above exact: %+v", test)
		}
		if gains > 0 {
			next := must(McNemar(losses+1, gains-1))
			if next.PWorse > test.PWorse || next.Log10PWorse > test.Log10PWorse {
				t.Fatalf("one gain turned into a loss raised p from %v to %v", test.PWorse, next.PWorse)
			}
		}
		if (test.Chi2 == nil) != (n == 0) || (test.Reason == "") != (n > 0) {
			t.Fatalf("undefined without a reason or the reverse: %+v", test)
		}
	})
}

// Counting all sequences of losses and gains is the definition.
func TestMcNemarAgainstEnumeration(t *testing.T) {
	for n := 1; n <= 12; n++ {
		atLeast := make([]int, n+2)
		for bits := range 1 << n {
			losses := 0
			for b := bits; b > 0; b >>= 1 {
				losses += b & 1
			}
			for x := 0; x <= losses; x++ {
				atLeast[x]++
			}
		}
		for losses := range n + 1 {
			want := float64(atLeast[losses]) / float64(int(1)<<n)
			if got := must(McNemar(losses, n-losses)).PWorse; got != want {
				t.Errorf("%d/%d: %v, want %v", losses, n-losses, got, want)
			}
		}
	}
}
