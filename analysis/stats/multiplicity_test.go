package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func pointers(values ...float64) []*float64 {
	var list []*float64
	for _, x := range values {
		list = append(list, ptr(x))
	}
	return list
}

func TestMultiplicityGold(t *testing.T) {
	sets := map[string][]goldRow{}
	for _, row := range gold(t, "multiplicity.csv") {
		sets[row.text("set")] = append(sets[row.text("set")], row)
	}
	for _, rows := range sets {
		p := make([]*float64, len(rows))
		for _, row := range rows {
			p[row.int("index")] = ptr(row.float("p"))
		}
		holm, bh, by := must(Holm(p)), must(BenjaminiHochberg(p)), must(BenjaminiYekutieli(p))
		for _, row := range rows {
			i := row.int("index")
			row.optional("holm", holm.P[i], 1e-13)
			row.optional("bh", bh.P[i], 1e-13)
			row.optional("by", by.P[i], 1e-13)
		}
	}
}

func TestAdjustedByHand(t *testing.T) {
	// By hand from the papers' definitions: five p values, .01 to .05.
	p := pointers(0.05, 0.01, 0.03, 0.02, 0.04)
	for name, tt := range map[string]struct {
		got  Adjusted
		want []float64
	}{
		"holm": {must(Holm(p)), []float64{0.09, 0.05, 0.09, 0.08, 0.09}},
		"BH":   {must(BenjaminiHochberg(p)), []float64{0.05, 0.05, 0.05, 0.05, 0.05}},
		"BY":   {must(BenjaminiYekutieli(p)), []float64{137. / 1200, 137. / 1200, 137. / 1200, 137. / 1200, 137. / 1200}},
	} {
		for i, want := range tt.want {
			within(t, name, *tt.got.P[i], want, 1e-14)
		}
	}
}

func TestAdjustedMissingAndErrors(t *testing.T) {
	p := []*float64{nil, ptr(0.01), nil, ptr(0.04)}
	for name, adjust := range adjustments() {
		got := must(adjust(p))
		if got.Tested != 2 || !slices.Equal(got.Missing, []int{0, 2}) || got.P[0] != nil || got.P[2] != nil {
			t.Errorf("%s: %+v", name, got)
		}
		if none := must(adjust(nil)); none.Tested != 0 || len(none.P) != 0 {
			t.Errorf("%s of nothing: %+v", name, none)
		}
		for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
			if _, err := adjust(pointers(0.5, bad)); err == nil {
				t.Errorf("%s: no error for %v", name, bad)
			}
		}
	}
	if got := must(Holm(p)); *got.P[1] != 0.02 || *got.P[3] != 0.04 {
		t.Errorf("missing tests were counted: %v, %v", *got.P[1], *got.P[3])
	}
}

func adjustments() map[string]func([]*float64) (Adjusted, error) {
	return map[string]func([]*float64) (Adjusted, error){"holm": Holm, "BH": BenjaminiHochberg, "BY": BenjaminiYekutieli}
}

func TestAdjustedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pointers(rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 30).Draw(t, "p")...)
		holm, bh, by := must(Holm(p)), must(BenjaminiHochberg(p)), must(BenjaminiYekutieli(p))
		const rounding = 1 + 1e-15
		for i := range p {
			if !(*p[i] <= *bh.P[i]*rounding && *bh.P[i] <= *holm.P[i]*rounding && *bh.P[i] <= *by.P[i]*rounding && *by.P[i] <= 1 && *holm.P[i] <= 1) {
				t.Fatalf("raw %v, BH %v, Holm %v, BY %v", *p[i], *bh.P[i], *holm.P[i], *by.P[i])
			}
			for j := range p {
				if *p[i] <= *p[j] && (*holm.P[i] > *holm.P[j] || *bh.P[i] > *bh.P[j]) {
					t.Fatalf("p values %v and %v changed order", *p[i], *p[j])
				}
			}
		}
	})
}

func TestHolmTarone(t *testing.T) {
	// Ten slices: eight with fewer than five discordant pairs, two with six.
	var slices []DiscreteTest
	for range 8 {
		slices = append(slices, DiscreteTest{P: 0.0625, MinP: 0.0625})
	}
	slices = append(slices, DiscreteTest{P: 0.015625, MinP: 0.015625}, DiscreteTest{P: 0.34375, MinP: 0.015625})
	got := must(HolmTarone(slices, 0.05))
	if got.K != 2 || !got.Testable[8] || !got.Testable[9] || got.Testable[0] || !got.Rejected[8] || got.Rejected[9] || got.Rejected[0] {
		t.Errorf("ten slices: %+v", got)
	}
	// After the first rejection the second is tested alone, as in Holm.
	two := must(HolmTarone([]DiscreteTest{{P: 0.01}, {P: 0.04}}, 0.05))
	if two.K != 2 || !two.Rejected[0] || !two.Rejected[1] {
		t.Errorf("step-down: %+v", two)
	}
	if none := must(HolmTarone(nil, 0.05)); none.K != 0 || len(none.Rejected) != 0 {
		t.Errorf("nothing: %+v", none)
	}
	// Nothing is testable: K is 1 and nothing is rejected.
	if small := must(HolmTarone([]DiscreteTest{{P: 0.5, MinP: 0.5}}, 0.05)); small.K != 1 || small.Testable[0] || small.Rejected[0] {
		t.Errorf("small: %+v", small)
	}
	for _, bad := range []DiscreteTest{{P: 2}, {P: -1}, {P: 0.1, MinP: 0.2}, {P: 1, MinP: math.NaN()}, {P: math.NaN()}} {
		if _, err := HolmTarone([]DiscreteTest{bad}, 0.05); err == nil {
			t.Errorf("no error for %+v", bad)
		}
	}
	if _, err := HolmTarone(nil, 0); err == nil {
		t.Error("no error for level 0")
	}
}

// It rejects all that Holm does, and no more than unadjusted tests would.
func TestHolmTaroneBetweenHolmAndRaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tests []DiscreteTest
		var p []*float64
		for range rapid.IntRange(0, 15).Draw(t, "tests") {
			pair := must(McNemar(rapid.IntRange(0, 15).Draw(t, "losses"), rapid.IntRange(0, 4).Draw(t, "gains")))
			tests = append(tests, DiscreteTest{P: pair.PWorse, MinP: pair.MinP})
			p = append(p, ptr(pair.PWorse))
		}
		tarone, holm := must(HolmTarone(tests, 0.05)), must(Holm(p))
		for i := range tests {
			if *holm.P[i] <= 0.05 && !tarone.Rejected[i] {
				t.Fatalf("Holm rejects %+v, Tarone does not: %+v", tests[i], tarone)
			}
			if tarone.Rejected[i] && tests[i].P > 0.05 {
				t.Fatalf("%+v is rejected", tests[i])
			}
		}
	})
}
