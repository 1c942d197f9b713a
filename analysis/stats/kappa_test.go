package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestKappaGold(t *testing.T) {
	for _, row := range gold(t, "kappa.csv") {
		cells, k := integers(t, row.text("matrix_rowmajor")), row.int("k")
		var matrix [][]int
		for i := 0; i < k; i++ {
			matrix = append(matrix, cells[i*k:(i+1)*k])
		}
		kappa := must(CohenKappa(matrix, 0.95))
		if kappa.N != row.int("n") {
			t.Errorf("line %d: n = %d", row.line, kappa.N)
		}
		row.optional("p_o", kappa.Observed, 1e-13)
		row.optional("p_e", kappa.Expected, 1e-13)
		row.optional("kappa", kappa.Value, 1e-13)
		row.optional("se_nonnull", kappa.SE, 1e-13)
		row.optional("se_null0", kappa.SENull, 1e-13)
		row.optional("z_null", kappa.Z, 1e-13)
		if se := row.float("se_nonnull"); se > 0 {
			row.interval("ci95", kappa.Interval, 1e-12)
		} else if kappa.Interval != nil || kappa.Reason == "" {
			t.Errorf("line %d: interval %v without an error, reason %q", row.line, kappa.Interval, kappa.Reason)
		}
	}
}

func TestKappaPublished(t *testing.T) {
	// Cohen 1960, the table of two clinicians.
	cohen := must(CohenKappa([][]int{{88, 14, 18}, {10, 40, 10}, {2, 6, 12}}, 0.95))
	within(t, "Cohen 1960", *cohen.Value, 29.0/59, 1e-15)
	// High agreement, no kappa.
	paradox := must(CohenKappa([][]int{{118, 5}, {2, 0}}, 0.95))
	within(t, "agreement", *paradox.Observed, 0.944, 1e-15)
	within(t, "kappa", *paradox.Value, -0.023, 5e-4)
	// statsmodels #5530: SE is NaN.
	constant := must(CohenKappa([][]int{{60, 29}, {0, 0}}, 0.95))
	if *constant.Value != 0 || *constant.SE != 0 || constant.Interval != nil || constant.Z != nil || constant.Reason != ReasonZeroSE {
		t.Errorf("one constant rater: %+v", constant)
	}
	perfect := must(CohenKappa([][]int{{30, 0}, {0, 20}}, 0.95))
	if *perfect.Value != 1 || *perfect.SE != 0 || perfect.Interval != nil || perfect.Reason != ReasonZeroSE {
		t.Errorf("perfect: %+v", perfect)
	}
	// scikit-learn #9624: users expect 1.
	same := must(CohenKappa([][]int{{40, 0}, {0, 0}}, 0.95))
	if same.Value != nil || same.SE != nil || same.Interval != nil || same.Reason != ReasonConstantLabels || *same.Observed != 1 {
		t.Errorf("constant: %+v", same)
	}
	for _, empty := range [][][]int{nil, {{0, 0}, {0, 0}}} {
		if got := must(CohenKappa(empty, 0.95)); got.Value != nil || got.Observed != nil || got.Reason != ReasonNoOverlap {
			t.Errorf("empty: %+v", got)
		}
	}
}

func TestAgreementErrors(t *testing.T) {
	// statsmodels #9485: reads the top left corner.
	for _, bad := range [][][]int{{{1, 2}}, {{1, 2, 3}, {1, 2, 3}}, {{1, -1}, {1, 1}}, {{maxCount, 1}, {0, 0}}} {
		if _, err := CohenKappa(bad, 0.95); err == nil {
			t.Errorf("CohenKappa: no error for %v", bad)
		}
	}
	if _, err := CohenKappa([][]int{{1}}, 1); err == nil {
		t.Error("CohenKappa: no error for confidence 1")
	}
	for _, bad := range [][][]int{{{1, 2}, {1, 1}}, {{1, 2}, {3}}, {{4, -1}}, {{maxCount + 1}}} {
		if _, err := FleissKappa(bad); err == nil {
			t.Errorf("FleissKappa: no error for %v", bad)
		}
	}
}

func TestKappaLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 4).Draw(t, "k")
		cell := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 50))
		table, transposed, padded := square(k), square(k), square(k+1)
		for i := range k {
			for j := range k {
				x := cell.Draw(t, "cell")
				table[i][j], transposed[j][i], padded[i][j] = x, x, x
			}
		}
		kappa := must(CohenKappa(table, 0.95))
		if (kappa.Interval == nil) != (kappa.Reason != "") {
			t.Fatalf("undefined without a reason or the reverse: %+v", kappa)
		}
		for _, other := range []Kappa{must(CohenKappa(transposed, 0.95)), must(CohenKappa(padded, 0.95))} {
			if !samePointer(kappa.Value, other.Value) || !samePointer(kappa.SE, other.SE) || !samePointer(kappa.Z, other.Z) {
				t.Fatalf("raters swapped or a label added: %+v, %+v", kappa, other)
			}
		}
		if kappa.Value != nil && !(*kappa.Value >= -1 && *kappa.Value <= 1) {
			t.Fatalf("kappa %v", *kappa.Value)
		}
		if i := kappa.Interval; i != nil && !(-1 <= i.Low && i.Low <= *kappa.Value && *kappa.Value <= i.High && i.High <= 1) {
			t.Fatalf("interval %v of %v", i, *kappa.Value)
		}
	})
}

func square(k int) [][]int {
	table := make([][]int, k)
	for i := range table {
		table[i] = make([]int, k)
	}
	return table
}

func samePointer(x, y *float64) bool {
	return (x == nil) == (y == nil) && (x == nil || *x == *y)
}

func TestFleissKrippendorffGold(t *testing.T) {
	for _, row := range gold(t, "fleiss_krippendorff.csv") {
		var units [][]int
		for _, unit := range strings.Split(row.text("data"), "|") {
			units = append(units, integers(t, unit))
		}
		switch statistic := row.text("statistic"); statistic {
		case "fleiss_kappa":
			fleiss := must(FleissKappa(units))
			row.optional("value", fleiss.Value, 1e-13)
			row.optional("observed", fleiss.Observed, 1e-13)
			row.optional("expected", fleiss.Expected, 1e-13)
			row.optional("se_null0", fleiss.SENull, 1e-13)
		case "krippendorff_alpha_nominal":
			alpha := KrippendorffAlpha(units)
			row.optional("value", alpha.Value, 1e-13)
			row.optional("observed", alpha.Observed, 1e-13)
			row.optional("expected", alpha.Expected, 1e-13)
		default:
			t.Fatalf("line %d: statistic %q", row.line, statistic)
		}
	}
}

func TestFleissPublished(t *testing.T) {
	// statsmodels #7657: -1/2 was called a bug; it is what three raters who
	// always differ have.
	if got := must(FleissKappa([][]int{{1, 1, 1}, {1, 1, 1}})); *got.Value != -0.5 {
		t.Errorf("always different: %v", *got.Value)
	}
	if got := must(FleissKappa([][]int{{7, 0}, {7, 0}})); got.Value != nil || got.SENull != nil || got.Reason != ReasonConstantLabels {
		t.Errorf("constant: %+v", got)
	}
	for _, empty := range [][][]int{nil, {{1, 0}, {0, 1}}} {
		if got := must(FleissKappa(empty)); got.Value != nil || got.Reason != ReasonNoOverlap {
			t.Errorf("no pair of raters: %+v", got)
		}
	}
}

func TestKrippendorffPublished(t *testing.T) {
	// Krippendorff 2011, example C: .743, with missing labels (mReliability #6
	// gives .7453).
	got := KrippendorffAlpha([][]int{
		{1, 1, 1}, {2, 2, 3, 2}, {3, 3, 3, 3}, {3, 3, 3, 3}, {2, 2, 2, 2}, {1, 2, 3, 4},
		{4, 4, 4, 4}, {1, 1, 2, 1}, {2, 2, 2, 2}, {5, 5, 5}, {1, 1}, {3},
	})
	within(t, "alpha", *got.Value, 113.0/152, 1e-15)
	if got.Units != 11 || got.Labels != 40 {
		t.Errorf("%d labels of %d units, want 40 of 11", got.Labels, got.Units)
	}
	// nltk #2865: None was counted as a label, alpha .333.
	if got := KrippendorffAlpha([][]string{{"a", "a"}, {"a", "a", "a"}, {"b", "b"}}); *got.Value != 1 {
		t.Errorf("perfect with gaps: %v", *got.Value)
	}
	// dkpro-statistics #19: 0 instead of undefined.
	if got := KrippendorffAlpha([][]string{{"a", "a"}, {"a", "a"}}); got.Value != nil || got.Reason != ReasonConstantLabels {
		t.Errorf("constant: %+v", got)
	}
	if got := KrippendorffAlpha([][]string{{"a"}, {"b"}, {}}); got.Value != nil || got.Observed != nil || got.Reason != ReasonNoOverlap {
		t.Errorf("single rater: %+v", got)
	}
	// One disagreement in constant labels.
	if got := KrippendorffAlpha([][]string{{"a", "a"}, {"a", "b"}, {"a", "a"}}); *got.Value != 0 {
		t.Errorf("one disagreement: %v", *got.Value)
	}
}

func TestAlphaOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 3), 0, 5), 0, 20).Draw(t, "units")
		want := KrippendorffAlpha(units)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
		for _, unit := range units {
			random.Shuffle(len(unit), func(i, j int) { unit[i], unit[j] = unit[j], unit[i] })
		}
		got := KrippendorffAlpha(units)
		if !samePointer(got.Value, want.Value) || !samePointer(got.Observed, want.Observed) || got.Reason != want.Reason {
			t.Fatalf("the order matters: %+v, %+v", got, want)
		}
		if (got.Value == nil) != (got.Reason != "") || (got.Value != nil && (math.IsNaN(*got.Value) || *got.Value > 1)) {
			t.Fatalf("alpha: %+v", got)
		}
	})
}
