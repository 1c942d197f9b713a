package stats

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestWilsonCorrectedGold(t *testing.T) {
	for _, row := range gold(t, "wilson.csv") {
		got := must(WilsonCorrectedInterval(row.int("x"), row.int("n"), row.float("conf")))
		row.interval("wilson_cc", got.Interval, 1e-12)
	}
}

// Newcombe's table I: 81/263, 15/148, 0/20 and 1/29 at 95%.
func TestWilsonCorrectedPublished(t *testing.T) {
	for _, tt := range []struct {
		x, n      int
		low, high float64
	}{{81, 263, 0.2535, 0.3682}, {15, 148, 0.0598, 0.1644}, {0, 20, 0, 0.2005}, {1, 29, 0.0018, 0.1963}} {
		got := must(WilsonCorrectedInterval(tt.x, tt.n, 0.95)).Interval
		within(t, "low", got.Low, tt.low, 5e-5)
		within(t, "high", got.High, tt.high, 5e-5)
	}
}

func TestWilsonCorrectedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2000).Draw(t, "n")
		x := rapid.IntRange(0, n).Draw(t, "x")
		conf := rapid.Float64Range(0.01, 0.9999).Draw(t, "conf")
		got := must(WilsonCorrectedInterval(x, n, conf)).Interval
		mirror := must(WilsonCorrectedInterval(n-x, n, conf)).Interval
		plain := must(WilsonInterval(x, n, conf)).Interval
		if got.Low != 1-mirror.High && got.High != 1-mirror.Low {
			t.Fatalf("%d/%d is no mirror of its complement: %v, %v", x, n, got, mirror)
		}
		const slack = 1e-12
		if !(0 <= got.Low && got.Low <= plain.Low+slack && plain.High <= got.High+slack && got.High <= 1) {
			t.Fatalf("%d/%d: corrected %v does not hold the plain %v", x, n, got, plain)
		}
	})
}

func TestWeightedKappaGold(t *testing.T) {
	for _, row := range gold(t, "kappa.csv") {
		k, cells := row.int("k"), integers(t, row.text("matrix_rowmajor"))
		table := make([][]int, k)
		for i := range table {
			table[i] = cells[i*k : (i+1)*k]
		}
		got := must(WeightedKappa(table))
		row.optional("kappa_linear", got.Linear, 1e-13)
		row.optional("kappa_quadratic", got.Quadratic, 1e-13)
		row.optional("pabak", got.PABAK, 1e-13)
		if (got.Reason != "") != (got.Linear == nil) {
			t.Errorf("line %d: reason %q", row.line, got.Reason)
		}
	}
}

func TestWeightedKappaLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cells := rapid.SliceOfN(rapid.IntRange(0, 40), 4, 4).Draw(t, "cells")
		table := [][]int{cells[:2], cells[2:]}
		cohen, weighted := must(CohenKappa(table, 0.95)), must(WeightedKappa(table))
		for _, got := range []*float64{weighted.Linear, weighted.Quadratic} {
			if (got == nil) != (cohen.Value == nil) || got != nil && *got != *cohen.Value {
				t.Fatalf("with two labels weights change kappa: %v, %v", got, cohen.Value)
			}
		}
	})
	if got := must(WeightedKappa(nil)); got.Reason != ReasonNoOverlap || got.PABAK != nil {
		t.Errorf("no labels: %+v", got)
	}
	if got := must(WeightedKappa([][]int{{5}})); got.Reason != ReasonConstantLabels || got.PABAK != nil {
		t.Errorf("one label: %+v", got)
	}
	if _, err := WeightedKappa([][]int{{1, 2}}); err == nil {
		t.Error("a table of one row and two columns is taken")
	}
}

func TestBonferroniGold(t *testing.T) {
	rows := gold(t, "multiplicity.csv")
	p := make([]*float64, len(rows))
	for i, row := range rows {
		p[i] = ptr(row.float("p"))
	}
	got := must(Bonferroni(p))
	for i, row := range rows {
		row.optional("bonferroni", got.P[i], 1e-14)
	}
}

func TestBonferroniAboveHolm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p []*float64
		for _, x := range rapid.SliceOfN(rapid.Float64Range(0, 1), 0, 20).Draw(t, "p") {
			p = append(p, &x)
		}
		bonferroni, holm := must(Bonferroni(p)), must(Holm(p))
		for i := range p {
			if *bonferroni.P[i] < *holm.P[i] {
				t.Fatalf("%v: %v below Holm's %v", *p[i], *bonferroni.P[i], *holm.P[i])
			}
		}
	})
}

func TestPointProbabilityGold(t *testing.T) {
	for _, row := range gold(t, "mcnemar.csv") {
		row.relative("pmf", must(PointProbability(row.int("b"), row.int("c"))), 1e-12)
	}
}

func TestCorrelationGold(t *testing.T) {
	for _, row := range gold(t, "paired_diff.csv") {
		row.absolute("phi10", must(Correlation(row.int("a"), row.int("b"), row.int("c"), row.int("d"))), 1e-13)
	}
}

func TestPowerCurveGold(t *testing.T) {
	for _, row := range gold(t, "power.csv") {
		curve := must(PowerCurve(row.int("N"), []float64{row.float("p_loss")}, row.float("p_gain"), row.float("alpha")))
		row.absolute("pow_exact_worse", curve[0], 1e-11)
	}
}

func TestPowerCurveRises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 150).Draw(t, "n")
		gain := rapid.Float64Range(0, 0.5).Draw(t, "gain")
		rates := make([]float64, 12)
		for i := range rates {
			rates[i] = 0.999 * (1 - gain) * float64(i) / float64(len(rates)-1)
		}
		curve := must(PowerCurve(n, rates, gain, 0.05))
		for i := 1; i < len(curve); i++ {
			if curve[i] < curve[i-1]-1e-12 {
				t.Fatalf("power falls from %v to %v at %v", curve[i-1], curve[i], rates[i])
			}
		}
	})
}

func TestPairsForMargin(t *testing.T) {
	for _, tt := range []struct {
		margin float64
		want   CleanPairs
	}{
		{0.02, CleanPairs{133, 149, 149}},
		{0.05, CleanPairs{52, 59, 59}},
		{0.10, CleanPairs{25, 29, 29}},
	} {
		if got := must(PairsForMargin(tt.margin, 0.05)); got != tt.want {
			t.Errorf("margin %v: %+v, want %+v", tt.margin, got, tt.want)
		}
	}
	for _, bad := range [][2]float64{{0, 0.05}, {1, 0.05}, {0.05, 0}, {0.05, math.NaN()}, {1e-12, 0.05}} {
		if got, err := PairsForMargin(bad[0], bad[1]); err == nil {
			t.Errorf("margin %v at %v gives %+v", bad[0], bad[1], got)
		}
	}
}

func TestLargestPassingLosses(t *testing.T) {
	for _, tt := range []struct {
		n      int
		margin float64
		want   int
	}{
		{40, 0.02, -1}, {40, 0.05, -1}, {40, 0.10, 0},
		{200, 0.02, 0}, {200, 0.05, 4}, {0, 0.05, -1},
	} {
		if got := must(LargestPassingLosses(tt.n, tt.margin, 0.05)); got != tt.want {
			t.Errorf("%d pairs, margin %v: %d losses, want %d", tt.n, tt.margin, got, tt.want)
		}
	}
}

func TestEliasziwGold(t *testing.T) {
	tables := map[string][]ClusterTable{}
	for _, row := range gold(t, "clustered.csv") {
		id := row.text("dataset")
		tables[id] = append(tables[id], ClusterTable{row.int("a"), row.int("b"), row.int("c"), row.int("d")})
	}
	checked := 0
	for _, row := range gold(t, "clustered_stats.csv") {
		list, ok := tables[row.text("dataset")]
		if !ok {
			continue
		}
		got := must(Eliasziw(list))
		var statistic *float64
		if got.ChiSquare != nil {
			statistic = &got.ChiSquare.Statistic
		}
		row.optional("eliasziw_chi2", statistic, 1e-12)
		if (got.Reason == "") != (statistic != nil) {
			t.Errorf("line %d: reason %q", row.line, got.Reason)
		}
		var clusters []Cluster
		for _, table := range list {
			clusters = append(clusters, table.Cluster())
		}
		sums := must(SumClusters(clusters))
		row.absolute("sumD", sums.Sum, 0)
		row.absolute("sumD2", sums.Squares, 0)
		row.absolute("sumD2_centred", sums.Centred, 1e-11)
		checked++
	}
	if checked == 0 {
		t.Fatal("no data set of clustered_stats.csv is in clustered.csv")
	}
}

func TestEliasziwErrors(t *testing.T) {
	for i, bad := range [][]ClusterTable{{{}}, {{BothPass: -1, Losses: 3}}, {{BothPass: 2, Losses: -1}}} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			if got, err := Eliasziw(bad); err == nil {
				t.Errorf("%v gives %+v", bad, got)
			}
		})
	}
	if got := must(Eliasziw(nil)); got.Reason != ReasonNoPairs {
		t.Errorf("nothing: %+v", got)
	}
}
