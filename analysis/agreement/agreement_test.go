package agreement

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// from makes labels of two people from a table of counts over the categories a, b, ...
func from(table [][]int) ([]Label, []string) {
	var labels []Label
	var names []string
	n := 0
	for i := range table {
		names = append(names, string(rune('a'+i)))
	}
	for i, row := range table {
		for j, count := range row {
			for range count {
				unit := fmt.Sprint("u", n)
				n++
				labels = append(labels, Label{Unit: unit, Rater: "x", Value: names[i]}, Label{Unit: unit, Rater: "y", Value: names[j]})
			}
		}
	}
	return labels, names
}

func near(a *float64, b float64) bool { return a != nil && math.Abs(*a-b) < 5e-4 }

func TestKappaOfTwo(t *testing.T) {
	tests := []struct {
		name      string
		table     [][]int
		kappa     float64
		agreement float64
		explained string
		none      bool
	}{
		{"the textbook's", [][]int{{20, 5}, {10, 15}}, 0.4, 0.7, "", false},
		{"much agreement, no kappa", [][]int{{118, 5}, {2, 0}}, -0.0234, 0.944, "read the raw agreement", false},
		{"constant", [][]int{{9, 0}, {0, 0}}, 0, 1, "neither 0 nor 1", true},
		{"one constant", [][]int{{60, 29}, {0, 0}}, 0, 60.0 / 89, "kappa is 0 by construction", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			labels, names := from(tt.table)
			r, err := Measure(labels, Options{Categories: names})
			if err != nil {
				t.Fatal(err)
			}
			p := r.Pairs[0]
			if tt.none != (p.Value == nil) || (!tt.none && !near(p.Value, tt.kappa)) || !near(r.Agreement, tt.agreement) {
				t.Errorf("kappa %v, agreement %v", p.Value, *r.Agreement)
			}
			if !strings.Contains(p.Explained, tt.explained) {
				t.Errorf("explained %q", p.Explained)
			}
		})
	}
}

// Krippendorff's own example with missing labels: four coders, alpha .743 = 113/152.
func TestAlphaWithMissingLabels(t *testing.T) {
	coders := []string{
		"1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .",
	}
	var labels []Label
	for c, line := range coders {
		for u, v := range strings.Fields(line) {
			if v != "." {
				labels = append(labels, Label{Unit: fmt.Sprintf("u%02d", u), Rater: fmt.Sprint("coder", c), Value: v})
			}
		}
	}
	r, err := Measure(labels, Options{Categories: strings.Split("12345", "")})
	if err != nil {
		t.Fatal(err)
	}
	if r.Alpha.Value == nil || math.Abs(*r.Alpha.Value-113.0/152) > 1e-12 {
		t.Errorf("alpha %v, want 113/152", r.Alpha.Value)
	}
	if r.Alpha.Low != nil || !strings.Contains(r.Alpha.IntervalReason, "too few to draw from") {
		t.Errorf("interval %v, %q: eleven groups are too few", r.Alpha.Low, r.Alpha.IntervalReason)
	}
	if r.Fleiss.Value != nil {
		t.Error("Fleiss' kappa needs as many labels on every unit")
	}
}

func TestAlphaDrawsGroups(t *testing.T) {
	var labels []Label
	for u := range 60 {
		a, b := "yes", "yes"
		if u%2 == 0 {
			a, b = "no", "no"
		}
		if u%7 == 0 {
			b = "yes"
		}
		unit, group := fmt.Sprint("u", u), fmt.Sprint("g", u/2)
		labels = append(labels, Label{Unit: unit, Group: group, Rater: "x", Value: a}, Label{Unit: unit, Group: group, Rater: "y", Value: b})
	}
	o := Options{Categories: []string{"yes", "no"}, Seed: 3}
	r, err := Measure(labels, o)
	if err != nil {
		t.Fatal(err)
	}
	if a := r.Alpha; a.Groups != 30 || a.Low == nil || !(*a.Low < *a.Value && *a.Value < *a.High && *a.High <= 1) {
		t.Errorf("alpha %+v", a)
	}
	again, _ := Measure(labels, o)
	if *again.Alpha.Low != *r.Alpha.Low {
		t.Error("the same seed gives another interval")
	}
}

func TestJudgeAgainstPeople(t *testing.T) {
	var labels []Label
	add := func(n int, people, judge string) {
		for range n {
			unit := fmt.Sprint("u", len(labels))
			for i, v := range strings.Split(people, "/") {
				labels = append(labels, Label{Unit: unit, Rater: fmt.Sprint("p", i), Value: v})
			}
			labels = append(labels, Label{Unit: unit, Rater: "j", Judge: true, Value: judge})
		}
	}
	add(8, "lost/lost", "lost")
	add(2, "lost/lost", "kept")
	add(30, "kept/kept", "kept")
	add(0, "kept/kept", "lost")
	add(5, "kept/lost", "lost") // unresolved
	add(1, "kept", "")          // the judge cannot tell
	r, err := Measure(labels, Options{Categories: []string{"kept", "lost"}, Positive: []string{"lost"}})
	if err != nil {
		t.Fatal(err)
	}
	j := r.Judge.Judges[0]
	if r.Judge.Unresolved != 5 || j.Units != 40 || j.Abstained != 1 || r.Judge.Use != "advisory-only" {
		t.Errorf("judge %+v", r.Judge)
	}
	if j.Sensitivity.Count != 8 || j.Sensitivity.Total != 10 || !near(j.Sensitivity.Low, 0.4902) || !near(j.Sensitivity.High, 0.9433) {
		t.Errorf("sensitivity %+v", j.Sensitivity) // Wilson 8 of 10: .4902 to .9433
	}
	if j.Specificity.Count != 30 || j.Specificity.Total != 31 {
		t.Errorf("specificity %+v: that it cannot tell is not that it leaves it", j.Specificity)
	}
}

// A random file of rulings by three people on forty pairs, "?" for who could not tell and
// "." for who never saw it. The expected values are not ours: kappa is
// sklearn.metrics.cohen_kappa_score of scikit-learn 1.9.1, its limits are those of
// statsmodels.stats.inter_rater.cohens_kappa of statsmodels 0.15.0, alpha is
// krippendorff.alpha(level_of_measurement="nominal") of krippendorff 0.9.0, each on the
// labels without the abstentions.
func TestAgainstOtherPrograms(t *testing.T) {
	files := map[string]string{
		"ann": "fw.wfwbfxi.bbwwffffwc?bw.bwf.bx.??.wffwi",
		"ben": "fw.wxb?fx.??fwffwiw?fxf.wwwfxbx.wxwcf?wi",
		"cem": "fwwwwwb.xcibfwffwfwwfcbww.c?.bxf.?iww?fb",
	}
	var labels []Label
	for _, rater := range []string{"ann", "ben", "cem"} {
		for u, c := range files[rater] {
			switch c {
			case '.':
				continue
			case '?':
				labels = append(labels, Label{Unit: fmt.Sprintf("u%02d", u), Rater: rater})
			default:
				labels = append(labels, Label{Unit: fmt.Sprintf("u%02d", u), Rater: rater, Value: string(c)})
			}
		}
	}
	r, err := Measure(labels, Options{Categories: strings.Split("wbfxic", "")})
	if err != nil {
		t.Fatal(err)
	}
	same := func(name string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for i, want := range []struct {
		first, second    string
		units            int
		kappa, low, high float64
		observed         float64
	}{
		{"ann", "ben", 25, 0.40604751619870394, 0.1444157657211423, 0.6676792666762661, 0.56},
		{"ann", "cem", 27, 0.44897959183673464, 0.19991913193344432, 0.6980400517400249, 16.0 / 27},
		{"ben", "cem", 25, 0.41239316239316237, 0.17043064821813617, 0.6543556765681888, 0.56},
	} {
		p := r.Pairs[i]
		if p.First != want.first || p.Second != want.second || p.N != want.units || p.Interval == nil {
			t.Fatalf("pair %d: %+v, want %+v", i, p, want)
		}
		name := want.first + " and " + want.second
		same(name, p.Value, want.kappa)
		same(name+", low", &p.Interval.Low, want.low)
		same(name+", high", &p.Interval.High, want.high)
		same(name+", observed", p.Observed, want.observed)
	}
	same("alpha", r.Alpha.Value, 0.44614590502408813)
	same("raw agreement", r.Agreement, 44.0/77)
	if fmt.Sprint(r.Abstained) != "map[ann:3 ben:5 cem:3]" {
		t.Errorf("abstained %v", r.Abstained)
	}
}

// Wilson's limits as statsmodels 0.15.0 has them:
// statsmodels.stats.proportion.proportion_confint(count, nobs, 0.05, "wilson").
func TestLimitsAgainstAnotherProgram(t *testing.T) {
	fit := Sample{HeldOut: true, Random: true, Exhaustive: true, WholeItems: true, Models: 1, Prompts: 1, Arms: 1}
	for _, tt := range []struct {
		count, total int
		low, high    float64
	}{
		{8, 10, 0.49016247153664183, 0.9433178485456247},
		{0, 40, 0, 0.08762160119728668},
		{17, 31, 0.37772167637354503, 0.7083826401947998},
		{3, 40, 0.025836025774588184, 0.1986423352431055},
		{31, 31, 0.889744604539564, 1},
	} {
		share, err := fit.Rate(tt.count, tt.total, 0.95)
		if err != nil || share.Low == nil || math.Abs(*share.Low-tt.low) > 1e-12 || math.Abs(*share.High-tt.high) > 1e-12 {
			t.Errorf("%d of %d: %+v, %v; want %v to %v", tt.count, tt.total, share, err, tt.low, tt.high)
		}
	}
}

// Who could not tell labels nothing: every figure is that of the labels without the
// abstentions, which are counted.
func TestAbstentionsAreMissing(t *testing.T) {
	categories := []string{"a", "b", "c"}
	rapid.Check(t, func(rt *rapid.T) {
		var all, real []Label
		silent := map[string]int{}
		for u := range rapid.IntRange(0, 25).Draw(rt, "units") {
			for _, rater := range []string{"x", "y", "z", "robot"} {
				l := Label{Unit: fmt.Sprint("u", u), Rater: rater, Judge: rater == "robot", Value: rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(rt, "value")}
				all = append(all, l)
				if l.Value != "" {
					real = append(real, l)
				} else if !l.Judge {
					silent[rater]++
				}
			}
		}
		got, err := Measure(all, Options{Categories: categories})
		if err != nil {
			rt.Fatal(err)
		}
		want, err := Measure(real, Options{Categories: categories})
		if err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprint(got.Abstained) != fmt.Sprint(silent) {
			rt.Fatalf("abstained %v, want %v", got.Abstained, silent)
		}
		same := func(x, y *float64) bool { return (x == nil) == (y == nil) && (x == nil || *x == *y) }
		ok := same(got.Agreement, want.Agreement) && same(got.Alpha.Value, want.Alpha.Value) && same(got.Fleiss.Value, want.Fleiss.Value) && got.Overlap == want.Overlap && got.Units == want.Units
		pairs := map[string]Pair{}
		for _, p := range got.Pairs {
			pairs[p.First+p.Second] = p
		}
		for _, p := range want.Pairs {
			ok = ok && same(pairs[p.First+p.Second].Value, p.Value) && pairs[p.First+p.Second].N == p.N
		}
		if want.Judge != nil && want.Judge.Judges[0].Units > 0 {
			ok = ok && same(got.Judge.Judges[0].Agreement, want.Judge.Judges[0].Agreement) && same(got.Judge.Judges[0].Kappa.Value, want.Judge.Judges[0].Kappa.Value)
		}
		if !ok {
			rt.Fatalf("%+v\nwithout the abstentions %+v", got, want)
		}
	})
}

func TestBadLabels(t *testing.T) {
	good := Label{Unit: "u", Rater: "x", Value: "a"}
	tests := map[string][]Label{
		"no category":           {{Unit: "u", Rater: "x", Value: "z"}},
		"wants a unit":          {{Rater: "x", Value: "a"}},
		"a second time":         {good, good},
		"labels u a second":     {good, {Unit: "u", Rater: "x"}},
		"a person in one place": {good, {Unit: "v", Rater: "x", Judge: true, Value: "a"}},
		"in the groups u and g": {good, {Unit: "u", Group: "g", Rater: "y", Value: "a"}},
	}
	for want, labels := range tests {
		if _, err := Measure(labels, Options{Categories: []string{"a"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want ...%s", err, want)
		}
	}
	if r, err := Measure(nil, Options{}); err != nil || r.Agreement != nil || r.Alpha.Value != nil || r.Judge != nil {
		t.Errorf("no labels: %+v, %v", r, err)
	}
}

func TestRatesNeedAFitSample(t *testing.T) {
	fit := Sample{HeldOut: true, Random: true, Exhaustive: true, WholeItems: true, Models: 1, Prompts: 1, Arms: 1, Attempts: []int{1, 1}}
	share, err := fit.Rate(0, 40, 0.95)
	if err != nil || !near(share.High, 0.0876) || *share.Low != 0 {
		t.Errorf("0 of 40: %+v, %v", share, err)
	}
	for want, change := range map[string]func(*Sample){
		"random":         func(s *Sample) { s.Random = false },
		"held out":       func(s *Sample) { s.HeldOut = false },
		"selection":      func(s *Sample) { s.Exhaustive = false },
		"work item":      func(s *Sample) { s.WholeItems = false },
		"no label":       func(s *Sample) { s.Unlabelled = 1 },
		"disputed":       func(s *Sample) { s.Disputed = 1 },
		"grounding":      func(s *Sample) { s.UnknownGrounding = 1 },
		"unknown":        func(s *Sample) { s.Models = 0 },
		"several models": func(s *Sample) { s.Models = 2 },
		"several prompt": func(s *Sample) { s.Prompts = 2 },
		"one arm":        func(s *Sample) { s.Arms = 2 },
		"unequal":        func(s *Sample) { s.Attempts = []int{1, 2} },
		"judge":          func(s *Sample) { s.JudgeOnly = true },
		"provisional":    func(s *Sample) { s.Provisional = true },
	} {
		s := fit
		change(&s)
		if share, err := s.Rate(1, 40, 0.95); err != nil || share.Low != nil || !strings.Contains(share.Reason, want) {
			t.Errorf("%s: %+v, %v", want, share, err)
		}
	}
	if share, err := fit.Rate(0, 0, 0.95); err != nil || share.Value != nil || share.Reason == "" {
		t.Errorf("0 of 0: %+v, %v: nothing labelled is not zero", share, err)
	}
}

// The order of labels and the names of categories do not matter, and a category that
// nobody uses changes nothing.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "units")
		var labels []Label
		for u := range n {
			for _, rater := range []string{"x", "y", "z"} {
				if v := rapid.SampledFrom([]string{"a", "b", "c", "", "skip"}).Draw(rt, "value"); v != "skip" {
					labels = append(labels, Label{Unit: fmt.Sprint("u", u), Rater: rater, Value: v})
				}
			}
		}
		a, err := Measure(labels, Options{Categories: []string{"a", "b", "c"}})
		if err != nil {
			rt.Fatal(err)
		}
		b, err := Measure(rapid.Permutation(labels).Draw(rt, "order"), Options{Categories: []string{"c", "unused", "b", "a"}})
		if err != nil {
			rt.Fatal(err)
		}
		same := func(x, y *float64) bool {
			return (x == nil) == (y == nil) && (x == nil || math.Abs(*x-*y) < 1e-12)
		}
		if !same(a.Agreement, b.Agreement) || !same(a.Alpha.Value, b.Alpha.Value) || len(a.Pairs) != len(b.Pairs) {
			rt.Fatalf("%+v and %+v", a, b)
		}
		for i := range a.Pairs {
			if !same(a.Pairs[i].Value, b.Pairs[i].Value) {
				rt.Fatalf("%+v and %+v", a.Pairs[i], b.Pairs[i])
			}
		}
	})
}
