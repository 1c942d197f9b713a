package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// fourfold makes a cluster from the cells of its table: both pass, loss, gain,
// both fail.
func fourfold(a, b, c, d int) Cluster { return Cluster{Pairs: a + b + c + d, Losses: b, Gains: c} }

// singletons are clusters of one pair each.
func singletons(losses, gains, concordant int) []Cluster {
	var clusters []Cluster
	for range losses {
		clusters = append(clusters, Cluster{Pairs: 1, Losses: 1})
	}
	for range gains {
		clusters = append(clusters, Cluster{Pairs: 1, Gains: 1})
	}
	for range concordant {
		clusters = append(clusters, Cluster{Pairs: 1})
	}
	return clusters
}

// repeat is a set of equal clusters.
func repeat(c Cluster, times int) []Cluster {
	var clusters []Cluster
	for range times {
		clusters = append(clusters, c)
	}
	return clusters
}

// psychiatry is the data of Donner and Petryshen, Psychiatry Research, 1989: 135
// pairs in 29 clusters. The cells are in the order of fourfold.
func psychiatry() []Cluster {
	cells := [][4]int{
		{1, 0, 4, 2}, {1, 1, 2, 2}, {3, 1, 3, 0}, {2, 1, 2, 1}, {2, 0, 1, 1}, {0, 3, 3, 0},
		{0, 3, 0, 2}, {0, 3, 2, 3}, {0, 1, 2, 1}, {0, 0, 4, 3}, {1, 0, 2, 0}, {1, 1, 4, 0},
		{1, 0, 3, 3}, {2, 0, 2, 2}, {2, 0, 1, 2}, {1, 0, 3, 0}, {2, 0, 1, 3}, {1, 0, 2, 2},
		{0, 3, 0, 1}, {2, 1, 0, 0}, {1, 1, 0, 3}, {0, 2, 2, 0}, {1, 0, 1, 2}, {0, 0, 2, 0},
		{0, 0, 2, 1}, {0, 0, 0, 2}, {0, 0, 0, 2}, {1, 0, 1, 1}, {0, 0, 1, 0},
	}
	return fourfolds(cells)
}

// thyroids is the data of Obuchowski, Statistics in Medicine 17, 1998: 51 pairs in
// 21 clusters.
func thyroids() []Cluster {
	cells := [][4]int{
		{0, 0, 2, 1}, {2, 0, 1, 0}, {3, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 1, 0}, {4, 0, 0, 0},
		{3, 0, 0, 0}, {2, 0, 0, 0}, {1, 1, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 1}, {2, 0, 0, 0},
		{3, 0, 0, 0}, {2, 0, 0, 0}, {0, 0, 2, 0}, {2, 0, 0, 1}, {2, 0, 0, 1}, {2, 0, 1, 0},
		{2, 0, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0},
	}
	return fourfolds(cells)
}

func fourfolds(cells [][4]int) []Cluster {
	var clusters []Cluster
	for _, c := range cells {
		clusters = append(clusters, fourfold(c[0], c[1], c[2], c[3]))
	}
	return clusters
}

// goldClusters returns the data sets of clustered.csv and those that are
// described well enough to be built.
func goldClusters(t *testing.T) map[string][]Cluster {
	sets := map[string][]Cluster{
		"singletons_12_3": singletons(12, 3, 25),
		"cancel_within":   repeat(Cluster{Pairs: 5, Losses: 2, Gains: 2}, 6),
		"no_discordant":   repeat(Cluster{Pairs: 5}, 5),
	}
	for _, row := range gold(t, "clustered.csv") {
		name := row.text("dataset")
		sets[name] = append(sets[name], fourfold(row.int("a"), row.int("b"), row.int("c"), row.int("d")))
	}
	return sets
}

func TestClusterGold(t *testing.T) {
	sets := goldClusters(t)
	for _, row := range gold(t, "clustered_stats.csv") {
		mcnemar := must(McNemar(row.int("b"), row.int("c")))
		row.optional("mcnemar_chi2", mcnemar.Chi2, 1e-13)
		row.relative("mcnemar_exact_two", mcnemar.PTwo, 1e-12)

		// The statistics, from the sums in the file: not every data set is given.
		m := moments{
			clusters:  row.int("K"),
			pairs:     row.float("N"),
			sum:       row.float("sumD"),
			squares:   row.float("sumD2"),
			deviation: row.float("sumD2_centred"),
		}
		if m.squares > 0 {
			row.relative("obuchowski_chi2", m.obuchowski(), 1e-13)
			row.relative("yang_chi2", m.yang(), 1e-13)
			row.relative("p_obuchowski", chiSquareUpper(m.obuchowski()), 1e-12)
			row.relative("p_yang", chiSquareUpper(m.yang()), 1e-12)
		}
		row.relative("diff", m.sum/m.pairs, 1e-13)
		if m.clusters > 1 {
			row.relative("se_diff_cluster", m.standardError(), 1e-13)
		}

		clusters, ok := sets[row.text("dataset")]
		if !ok {
			continue
		}
		checkClusterSet(row, clusters)
	}
}

func checkClusterSet(row goldRow, clusters []Cluster) {
	row.t.Helper()
	set := must(newClusterSet(clusters))
	m := set.moments()
	if m.clusters != row.int("K") || set.pairs != row.int("N") {
		row.t.Errorf("line %d: %d clusters of %d pairs", row.line, m.clusters, set.pairs)
	}
	row.relative("sumD", m.sum, 0)
	row.relative("sumD2", m.squares, 0)
	row.relative("sumD2_centred", m.deviation, 1e-13)

	flip := must(SignFlip(clusters))
	row.relative("signflip_p_worse", flip.PWorse, 1e-12)
	row.relative("signflip_p_two", flip.PTwo, 1e-12)

	tests := must(ClusterTests(clusters))
	for name, test := range map[string]*ChiSquare{
		"obuchowski": tests.Obuchowski, "durkalski": tests.Durkalski, "yang": tests.Yang,
	} {
		var statistic, p *float64
		if test != nil {
			statistic, p = &test.Statistic, &test.P
		}
		row.optional(name+"_chi2", statistic, 1e-13)
		row.optional("p_"+name, p, 1e-12)
	}

	estimate := must(ClusterInterval(clusters, 0.95))
	row.optional("diff", estimate.Value, 1e-13)
	row.optional("se_diff_cluster", estimate.SE, 1e-13)
}

func TestClusterPublished(t *testing.T) {
	for name, tt := range map[string]struct {
		clusters                    []Cluster
		losses, gains               int
		mcnemar, obu, durk, yang, p float64
	}{
		// As in the tests of the R package clust.bin.pair; the last is ours.
		"psychiatry": {psychiatry(), 21, 50, 11.845, 7.19, 7.542, 8.43, 0.0064362287521362305},
		"thyroids":   {thyroids(), 1, 7, 4.5, 2.86, 2.32, 3.13, 0.15625},
	} {
		within(t, name+", McNemar", *must(McNemar(tt.losses, tt.gains)).Chi2, tt.mcnemar, 5e-4)
		tests := must(ClusterTests(tt.clusters))
		within(t, name+", Obuchowski", tests.Obuchowski.Statistic, tt.obu, 5e-3)
		within(t, name+", Durkalski", tests.Durkalski.Statistic, tt.durk, 5e-3)
		within(t, name+", Yang", tests.Yang.Statistic, tt.yang, 5e-3)
		within(t, name+", sign flip", must(SignFlip(tt.clusters)).PTwo, tt.p, 1e-15)
	}
}

func TestSignFlipSessions(t *testing.T) {
	// Five losses of one session are one observation, of five sessions five.
	one := must(SignFlip([]Cluster{{Pairs: 5, Losses: 5}, {Pairs: 40}}))
	if one.PWorse != 0.5 || one.PTwo != 1 || one.MinP != 0.5 || one.Attainable || one.Active != 1 {
		t.Errorf("one session: %+v", one)
	}
	five := must(SignFlip(append(repeat(Cluster{Pairs: 5, Losses: 1}, 5), Cluster{Pairs: 20})))
	if five.PWorse != 0.03125 || !five.Attainable || five.Active != 5 {
		t.Errorf("five sessions: %+v", five)
	}
	for want, clusters := range map[string][]Cluster{
		ReasonNoPairs:            nil,
		ReasonNoDiscordant:       {{Pairs: 3}},
		ReasonAllDifferencesZero: {{Pairs: 3, Losses: 1, Gains: 1}},
	} {
		got := must(SignFlip(clusters))
		if got.PWorse != 1 || got.PBetter != 1 || got.PTwo != 1 || got.PMidWorse != 1 || got.Reason != want {
			t.Errorf("%s: %+v", want, got)
		}
		if tests := must(ClusterTests(clusters)); tests.Obuchowski != nil || tests.Durkalski != nil || tests.Yang != nil || tests.Reason != want {
			t.Errorf("%s: %+v", want, tests)
		}
	}
}

func TestSignFlipUnderflow(t *testing.T) {
	clusters := append(repeat(Cluster{Pairs: 3, Losses: 2}, 1500), Cluster{Pairs: 3, Losses: 3})
	got := must(SignFlip(clusters))
	if got.PWorse != 0 {
		t.Errorf("p = %v, want underflow", got.PWorse)
	}
	within(t, "log10 p", got.Log10PWorse, -1501*math.Log10(2), 1e-9)
	clusters = append(repeat(Cluster{Pairs: 3, Losses: 2}, 3000), Cluster{Pairs: 3, Losses: 3})
	got = must(SignFlip(clusters))
	if got.PWorse != 0 || got.PTwo != 0 {
		t.Errorf("p = %v, %v, want underflow", got.PWorse, got.PTwo)
	}
	within(t, "log10 p of 3001 clusters", got.Log10PWorse, -3001*math.Log10(2), 1e-9)
}

func TestClusterErrors(t *testing.T) {
	for _, bad := range []Cluster{
		{}, {Pairs: -1}, {Pairs: 1, Losses: -1}, {Pairs: 1, Gains: -1}, {Pairs: 1, Losses: 1, Gains: 1},
		{Pairs: 2, Losses: 3}, {Pairs: 1, Parts: -1}, {Pairs: 2, Losses: 5, Gains: 2, Parts: 3},
		{Pairs: 1, Losses: math.MaxInt, Gains: math.MaxInt},
	} {
		clusters := []Cluster{{Pairs: 1}, bad}
		if _, err := SignFlip(clusters); err == nil {
			t.Errorf("SignFlip: no error for %+v", bad)
		}
		if _, err := ClusterTests(clusters); err == nil {
			t.Errorf("ClusterTests: no error for %+v", bad)
		}
		if _, err := ClusterInterval(clusters, 0.95); err == nil {
			t.Errorf("ClusterInterval: no error for %+v", bad)
		}
		if _, err := ClusterTangoInterval(clusters, 0.95); err == nil {
			t.Errorf("ClusterTangoInterval: no error for %+v", bad)
		}
	}
	// More than any night has.
	large := []Cluster{{Pairs: 900_000_000, Losses: 900_000_000}, {Pairs: 7, Gains: 3}}
	for i := range 50 {
		large = append(large, Cluster{Pairs: 900_000 + i, Losses: 900_000 - 7*i})
	}
	if _, err := SignFlip(large); err == nil {
		t.Error("no error for too much work")
	}
}

func TestClusterIntervalSuppression(t *testing.T) {
	for _, tt := range []struct {
		name     string
		clusters []Cluster
		value    bool
		se       bool
		interval bool
		reason   string
	}{
		{"none", nil, false, false, false, ReasonNoPairs},
		{"one", []Cluster{{Pairs: 6, Losses: 3, Gains: 1}}, true, false, false, ReasonOneCluster},
		{"nine", repeat(Cluster{Pairs: 2, Losses: 1}, 9), true, true, false, ReasonFewClusters},
		{"ten alike", repeat(Cluster{Pairs: 2, Losses: 1}, 10), true, true, false, ReasonZeroSE},
		{"ten", append(repeat(Cluster{Pairs: 2, Losses: 1}, 9), Cluster{Pairs: 2}), true, true, true, ""},
	} {
		got := must(ClusterInterval(tt.clusters, 0.95))
		if (got.Value != nil) != tt.value || (got.SE != nil) != tt.se || (got.Interval != nil) != tt.interval || got.Reason != tt.reason {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	got := must(ClusterInterval(psychiatry(), 0.95))
	// t(.975, 28) = 2.04841 from tables.
	within(t, "psychiatry, low", got.Interval.Low, -0.214814814814815-2.0484071*0.067290862108648, 1e-8)
	within(t, "psychiatry, high", got.Interval.High, -0.214814814814815+2.0484071*0.067290862108648, 1e-8)
}

func TestStudentUpper(t *testing.T) {
	for _, tt := range []struct {
		alpha   float64
		freedom int
		want    float64
	}{
		// In 40 digits with mpmath.
		{0.025, 1, 12.706204736174705}, {0.05, 9, 1.8331129326562372}, {0.025, 28, 2.0484071417952451},
		{0.005, 99, 2.6264054572808277}, {0.025, 999, 1.9623414611334499},
	} {
		within(t, "t", studentUpper(tt.alpha, tt.freedom), tt.want, 1e-12*tt.want)
	}
}

func TestClusterTangoInterval(t *testing.T) {
	// Without clustering it is the plain interval.
	plain, got := must(TangoInterval(12, 3, 40, 0.95)), must(ClusterTangoInterval(singletons(12, 3, 25), 0.95))
	if *got.Value != *plain.Value || *got.Interval != *plain.Interval {
		t.Errorf("singletons: %v, plain %v", got.Interval, plain.Interval)
	}
	// Five losses of one session count as one of nine pairs.
	wide := must(ClusterTangoInterval([]Cluster{{Pairs: 5, Losses: 5}, {Pairs: 40}}, 0.95)).Interval
	ninth := must(TangoInterval(1, 0, 9, 0.95)).Interval
	within(t, "low", wide.Low, ninth.Low, 1e-12)
	within(t, "high", wide.High, ninth.High, 1e-12)
	if got := must(ClusterTangoInterval(nil, 0.95)); got.Value != nil || got.Interval != nil || got.Reason != ReasonNoPairs {
		t.Errorf("nothing: %+v", got)
	}
}

func TestReplicatedCluster(t *testing.T) {
	got, err := ReplicatedCluster([]Replicates{
		{RefPassed: 3, RefRuns: 3, CandPassed: 1, CandRuns: 3}, // +2/3
		{RefPassed: 1, RefRuns: 2, CandPassed: 2, CandRuns: 2}, // -1/2
		{RefPassed: 1, RefRuns: 1, CandPassed: 3, CandRuns: 3}, // 0
	})
	want := Cluster{Pairs: 3, Losses: 4, Gains: 3, Parts: 6}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range [][]Replicates{
		nil,
		{{RefPassed: 0, RefRuns: 0, CandPassed: 1, CandRuns: 1}},
		{{RefPassed: 2, RefRuns: 1, CandPassed: 1, CandRuns: 1}},
		{{RefPassed: -1, RefRuns: 1, CandPassed: 1, CandRuns: 1}},
		{{RefPassed: 1, RefRuns: 1, CandPassed: 1, CandRuns: -1}},
		{{RefPassed: 1, RefRuns: 1009, CandPassed: 1, CandRuns: 1013}},
	} {
		if _, err := ReplicatedCluster(bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// A pair played once is a pair; played R times with the same outcome, it still
// is, and so is a set that mixes both.
func TestReplicatesOfTheSameAreThePlainTest(t *testing.T) {
	plain := []Cluster{{Pairs: 3, Losses: 2}, {Pairs: 2, Losses: 1, Gains: 1}, {Pairs: 2, Gains: 1}, {Pairs: 1, Losses: 1}}
	scaled := []Cluster{{Pairs: 3, Losses: 6, Parts: 3}, {Pairs: 2, Losses: 2, Gains: 2, Parts: 2}, {Pairs: 2, Gains: 1}, {Pairs: 1, Losses: 3, Parts: 3}}
	if x, y := must(SignFlip(plain)), must(SignFlip(scaled)); x != y {
		t.Errorf("plain %+v, replicated %+v", x, y)
	}
	x, y := must(ClusterTests(plain)), must(ClusterTests(scaled))
	within(t, "Obuchowski", y.Obuchowski.Statistic, x.Obuchowski.Statistic, 1e-14)
	within(t, "Durkalski", y.Durkalski.Statistic, x.Durkalski.Statistic, 1e-14)
	within(t, "Yang", y.Yang.Statistic, x.Yang.Statistic, 1e-14)
}

// clusterList draws a set of clusters, possibly replicated.
func clusterList(t *rapid.T, most int) []Cluster {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Cluster {
		pairs, parts := rapid.IntRange(1, 6).Draw(t, "pairs"), rapid.IntRange(1, 3).Draw(t, "parts")
		losses := rapid.IntRange(0, pairs*parts).Draw(t, "losses")
		gains := rapid.IntRange(0, pairs*parts-losses).Draw(t, "gains")
		return Cluster{Pairs: pairs, Losses: losses, Gains: gains, Parts: parts}
	}), 1, most).Draw(t, "clusters")
}

func TestSignFlipAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := clusterList(t, 10)
		set := must(newClusterSet(clusters))
		observed, worse, two := 0, 0, 0
		for _, d := range set.diffs {
			observed += d
		}
		for bits := range 1 << len(set.diffs) {
			sum := 0
			for k, d := range set.diffs {
				if bits>>k&1 == 1 {
					d = -d
				}
				sum += d
			}
			if sum >= observed {
				worse++
			}
			if abs(sum) >= abs(observed) {
				two++
			}
		}
		all, got := float64(int(1)<<len(set.diffs)), must(SignFlip(clusters))
		if got.PWorse != float64(worse)/all || got.PTwo != float64(two)/all {
			t.Fatalf("worse %v, two %v, want %d and %d of %v", got.PWorse, got.PTwo, worse, two, all)
		}
	})
}

func TestSingletonSignFlipIsMcNemar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		losses, gains := rapid.IntRange(0, 80).Draw(t, "losses"), rapid.IntRange(0, 80).Draw(t, "gains")
		flip, pair := must(SignFlip(singletons(losses, gains, 3))), must(McNemar(losses, gains))
		if flip.PWorse != pair.PWorse || flip.PBetter != pair.PBetter || flip.PTwo != pair.PTwo ||
			flip.PMidWorse != pair.PMidWorse || flip.Log10PWorse != pair.Log10PWorse ||
			flip.MinP != pair.MinP || flip.Attainable != pair.Attainable {
			t.Fatalf("sign flip %+v, McNemar %+v", flip, pair)
		}
	})
}

func TestClusterSwapAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := clusterList(t, 40)
		shuffled, swapped := make([]Cluster, len(clusters)), make([]Cluster, len(clusters))
		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Perm(len(clusters))
		for i, j := range order {
			shuffled[i] = clusters[j]
			swapped[i] = clusters[i]
			swapped[i].Losses, swapped[i].Gains = clusters[i].Gains, clusters[i].Losses
		}
		x, y, z := must(SignFlip(clusters)), must(SignFlip(shuffled)), must(SignFlip(swapped))
		if x != y {
			t.Fatalf("the order of clusters matters: %+v, %+v", x, y)
		}
		if x.PWorse != z.PBetter || x.PBetter != z.PWorse || x.PTwo != z.PTwo || x.Log10PTwo != z.Log10PTwo {
			t.Fatalf("swapped arms do not mirror: %+v, %+v", x, z)
		}
		interval, reordered := must(ClusterInterval(clusters, 0.9)), must(ClusterInterval(shuffled, 0.9))
		if *interval.Value != *reordered.Value || (interval.SE != nil && *interval.SE != *reordered.SE) {
			t.Fatalf("the order of clusters matters: %+v, %+v", interval, reordered)
		}
		tests, retests := must(ClusterTests(clusters)), must(ClusterTests(shuffled))
		if tests.Reason != retests.Reason || (tests.Yang != nil &&
			(*tests.Yang != *retests.Yang || *tests.Durkalski != *retests.Durkalski || *tests.Obuchowski != *retests.Obuchowski)) {
			t.Fatalf("the order of clusters matters: %+v, %+v", tests, retests)
		}
		if (tests.Reason == "") != (x.Reason == "") {
			t.Fatalf("reasons differ: %q, %q", tests.Reason, x.Reason)
		}
	})
}

func TestSignFlipIgnoresConcordantPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clusters := clusterList(t, 20)
		before := must(SignFlip(clusters))
		clusters[0].Pairs *= 2
		after := must(SignFlip(clusters))
		after.Pairs = before.Pairs
		if before != after {
			t.Fatalf("%+v became %+v", before, after)
		}
	})
}
