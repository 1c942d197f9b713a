package labels

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
	"github.com/doubletake-dev/doubletake/replay"
)

// study is a labelled export in the making.
type study struct {
	set     *labelling.Set
	ratings []labelling.Rating
}

func newStudy(frame labelling.Frame) *study {
	return &study{set: &labelling.Set{
		Key:   &labelling.Key{Header: labelling.Header{Version: labelling.Version, Run: "r", Frame: frame}},
		Cases: map[string]*labelling.Case{}, Samples: map[string]*labelling.Sample{}, Gone: map[string]string{},
	}}
}

// sample adds a captured, random, held-out sample with claims, of a fixture and a session
// of its own.
func (s *study) sample(id string, claims int) *labelling.Sample {
	model, prompt := "m", "p"
	sample := &labelling.Sample{
		SampleID: id, CaseSHA256: "d-" + id, Key: replay.Key{Fixture: fixtures.Hash("f-" + id), Arm: "candidate"},
		Group: "g-" + id, SessionGroup: "session " + id, Split: "held_out", Sampling: "random", ClaimCoverage: labelling.Exhaustive,
		Capture:    labelling.Capture{Status: labelling.Captured, Producer: replay.Played},
		Provenance: labelling.Provenance{Model: &model, PromptDigest: &prompt},
	}
	form := &labelling.Case{SampleID: id, CaseSHA256: sample.CaseSHA256, Group: sample.Group, ClaimCoverage: labelling.Exhaustive}
	for i := range claims {
		form.Request.Claims = append(form.Request.Claims, labelling.Claim{ID: fmt.Sprintf("c%d", i+1)})
	}
	s.set.Samples[id], s.set.Cases[id] = sample, form
	return sample
}

// fail makes a sample one whose output was not captured.
func (s *study) fail(id string) {
	s.sample(id, 1).Capture.Status = labelling.CaptureFailed
	delete(s.set.Cases, id)
	s.set.Gone[id] = "not captured"
}

// says adds a complete rating: for each claim "truth grounding" by first letters, such as
// "ts": true and supported.
func (s *study) says(kind labelling.Kind, rater, sample string, claims ...string) *labelling.Rating {
	truths := map[byte]labelling.Truth{'t': labelling.True, 'f': labelling.False, 'u': labelling.TruthUnsupported}
	groundings := map[byte]labelling.Grounding{'s': labelling.Supported, 'u': labelling.GroundingUnsupported, '?': labelling.GroundingUnknown}
	r := labelling.Rating{CaseSHA256: "d-" + sample, SampleID: sample, Rater: rater, Kind: kind, ReviewState: labelling.Reviewed, Ratings: []labelling.ClaimRating{}}
	for i, c := range claims {
		r.Ratings = append(r.Ratings, labelling.ClaimRating{Claim: fmt.Sprintf("c%d", i+1), Truth: truths[c[0]], Grounding: groundings[c[1]]})
	}
	s.ratings = append(s.ratings, r)
	return &s.ratings[len(s.ratings)-1]
}

func (s *study) report(t *testing.T) *Report {
	t.Helper()
	r, err := New(s.set, []labelling.Batch{{Ratings: s.ratings}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.ReleaseDecision != "not-assessed" || r.JudgeUse != "advisory-only" {
		t.Fatalf("the report ends %q, %q", r.ReleaseDecision, r.JudgeUse)
	}
	return r
}

func (r *Report) rate(t *testing.T, kind Error) Rate {
	t.Helper()
	for _, x := range r.Rates {
		if x.Error == kind {
			return x
		}
	}
	t.Fatalf("no rate of %s", kind)
	return Rate{}
}

func near(a *float64, b float64) bool { return a != nil && math.Abs(*a-b) < 1e-12 }

// kappaOf is Cohen's kappa by its definition, in floats.
func kappaOf(a, b []string) float64 {
	n := float64(len(a))
	same, chance := 0.0, 0.0
	first, second := map[string]float64{}, map[string]float64{}
	for i := range a {
		if a[i] == b[i] {
			same++
		}
		first[a[i]]++
		second[b[i]]++
	}
	for label := range first {
		chance += first[label] / n * second[label] / n
	}
	return (same/n - chance) / (1 - chance)
}

// wilsonOf are Wilson's limits in the form centre and half width.
func wilsonOf(x, n float64) (low, high float64) {
	const z = 1.959963984540054
	p := x / n
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return centre - half, centre + half
}

// Counts, kappa, confusion and intervals are those of a calculation of its own.
func TestAgainstOwnCalculation(t *testing.T) {
	s := newStudy(labelling.AllPairs)
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() string {
		return string("tttttfu"[random.IntN(7)]) + string("ssssu"[random.IntN(5)])
	}
	var ann, ben, people, robot []string
	counts := map[string]int{}
	wrong, total, disputed := 0, 0, 0
	for i := range 60 {
		id := fmt.Sprintf("s%02d", i)
		s.sample(id, 2)
		var a, b, j []string
		differ, false1 := false, false
		for range 2 {
			x := draw()
			y := x
			if random.IntN(12) == 0 {
				y = draw()
			}
			z := x
			if random.IntN(4) == 0 {
				z = draw()
			}
			a, b, j = append(a, x), append(b, y), append(j, z)
			counts[x]++
			counts[y]++
			ann, ben = append(ann, x[:1]), append(ben, y[:1])
			if x[0] == y[0] {
				people, robot = append(people, x[:1]), append(robot, z[:1])
			}
			differ = differ || x != y
			false1 = false1 || x[0] == 'f'
		}
		s.says(labelling.Human, "ann", id, a...)
		s.says(labelling.Human, "ben", id, b...)
		s.says(labelling.Judge, "robot", id, j...)
		switch {
		case differ:
			disputed++
		case false1:
			wrong++
			total++
		default:
			total++
		}
	}
	r := s.report(t)
	if n := r.People.TruthGrounding[labelling.False][labelling.Supported]; n != counts["fs"] {
		t.Errorf("%d labels false and supported, want %d", n, counts["fs"])
	}
	if r.People.Labels != 240 || r.Judge.Labels != 120 || r.Claims != 120 {
		t.Errorf("%d labels of people, %d of judges on %d claims", r.People.Labels, r.Judge.Labels, r.Claims)
	}
	if k := r.People.Truth.Pairs[0].Kappa; !near(k.Value, kappaOf(ann, ben)) || k.Interval == nil {
		t.Errorf("kappa %v, want %v with an interval", k.Value, kappaOf(ann, ben))
	}
	against := r.Judge.Truth.Judges[0]
	if !near(against.Kappa.Value, kappaOf(people, robot)) || against.Units != len(people) {
		t.Errorf("kappa of the judge %v on %d, want %v on %d", against.Kappa.Value, against.Units, kappaOf(people, robot), len(people))
	}
	order := map[string]int{"t": 0, "f": 1, "u": 2}
	confusion := make([][]int, 3)
	for i := range confusion {
		confusion[i] = make([]int, 3)
	}
	for i := range people {
		confusion[order[people[i]]][order[robot[i]]]++
	}
	if !reflect.DeepEqual(against.Confusion, confusion) {
		t.Errorf("confusion %v, want %v", against.Confusion, confusion)
	}
	rate := r.rate(t, ClaimFalse)
	if rate.WorkItems != 60 || rate.Disputed != disputed || rate.Count != wrong || rate.Total != total {
		t.Errorf("rate %+v, want %d of %d and %d disputed", rate, wrong, total, disputed)
	}
	if disputed == 0 || rate.Low != nil || !strings.Contains(rate.Reason, "disputed") {
		t.Errorf("with %d disputed: %+v", disputed, rate)
	}

	// Without the disputes the limits come back.
	clean := newStudy(labelling.AllPairs)
	for i := range 40 {
		id := fmt.Sprintf("s%02d", i)
		clean.sample(id, 1)
		label := "ts"
		if i < 3 {
			label = "fu"
		}
		clean.says(labelling.Human, "ann", id, label)
	}
	rate = clean.report(t).rate(t, ClaimFalse)
	low, high := wilsonOf(3, 40)
	if rate.Count != 3 || rate.Total != 40 || !near(rate.Low, low) || !near(rate.High, high) || rate.Reason != "" {
		t.Errorf("rate %+v, want %v to %v", rate, low, high)
	}
}

// Three people: Krippendorff's alpha of a small table. With the labels ttt, ttf, ff, tt the
// coincidences are o_tt=6 (3 and 1 and 2), o_ff=2, o_tf=o_ft=1 over ten labels; n_t=7,
// n_f=3; alpha = 1 - (10-1)*2/(2*7*3) = 4/7.
func TestAlphaOfThree(t *testing.T) {
	s := newStudy(labelling.Discordant)
	for id, labels := range map[string]string{"a": "ttt", "b": "ttf", "c": " ff", "d": "tt "} {
		s.sample(id, 1)
		for i, label := range labels {
			if label != ' ' {
				s.says(labelling.Human, []string{"ann", "ben", "cem"}[i], id, string(label)+"s")
			}
		}
	}
	r := s.report(t)
	a := r.People.Truth.Alpha
	if !near(a.Value, 4.0/7) || a.Low != nil || !strings.Contains(a.IntervalReason, "groups are too few") {
		t.Errorf("alpha %v, %+v", a.Value, a)
	}
	if a := r.People.Grounding.Alpha; a.Value != nil || a.Explained == "" {
		t.Errorf("alpha of constant labels: %+v", a)
	}
}

// Each rule that takes the limits of a rate away, by itself.
func TestSuppression(t *testing.T) {
	other := "other"
	tests := []struct {
		name   string
		change func(*study)
		want   string // empty for limits
		value  bool   // whether there is a value
	}{
		{"fit", func(*study) {}, "", true},
		{"only the discordant", func(s *study) { s.set.Key.Frame = labelling.Discordant }, "chosen by how they came out", true},
		{"not random", func(s *study) { s.each(func(x *labelling.Sample) { x.Sampling = "adversarial" }) }, "not a random sample", true},
		{"not held out", func(s *study) { s.each(func(x *labelling.Sample) { x.Split = "regression" }) }, "not held out", true},
		{"selected claims", func(s *study) { s.set.Cases["s3"].ClaimCoverage = labelling.Selected }, "a selection of claims", false},
		{"no label", func(s *study) { s.sample("more", 1) }, "1 work items have no label", true},
		{"withheld", func(s *study) {
			s.sample("more", 1)
			s.says(labelling.Human, "ann", "more").ReviewState = labelling.Withheld
		}, "1 work items have no label", true},
		{"labelled by a judge", func(s *study) { s.sample("more", 1); s.says(labelling.Judge, "robot", "more", "ts") }, "1 work items have no label", true},
		{"only a judge", func(s *study) {
			for i := range s.ratings {
				s.ratings[i].Kind = labelling.Judge
			}
		}, "only a judge labelled", false},
		{"disputed", func(s *study) { s.says(labelling.Human, "ben", "s3", "fs") }, "1 work items are disputed", true},
		{"disputed in grounding", func(s *study) { s.says(labelling.Human, "ben", "s3", "tu") }, "1 work items are disputed", true},
		{"unknown grounding", func(s *study) { s.ratings[3].Ratings[0].Grounding = labelling.GroundingUnknown }, "grounding of 1 work items", true},
		{"unknown model", func(s *study) { s.set.Samples["s3"].Provenance.Model = nil }, "which model answered is unknown", true},
		{"two models", func(s *study) { s.set.Samples["s3"].Provenance.Model = &other }, "several models", true},
		{"two builds of a model", func(s *study) { s.set.Samples["s3"].Provenance.Fingerprint = &other }, "several models", true},
		{"unknown prompt", func(s *study) { s.set.Samples["s3"].Provenance.PromptDigest = nil }, "which prompt was used is unknown", true},
		{"two prompts", func(s *study) { s.set.Samples["s3"].Provenance.PromptDigest = &other }, "several prompts", true},
		{"unequal attempts", func(s *study) {
			s.sample("again", 1).Fixture = s.set.Samples["s3"].Fixture
			s.says(labelling.Human, "ann", "again", "ts")
		}, "unequal attempts", true},
		{"a session twice", func(s *study) { s.set.Samples["s3"].SessionGroup = "session s4" }, "several work items of one session", true},
		{"stale labels", func(s *study) { s.set.Cases["s3"].CaseSHA256 = "changed" }, "1 work items have no label", true},
		{"a failed capture", func(s *study) { s.fail("lost") }, "", true},
		{"an output without a claim", func(s *study) { s.sample("mute", 0); s.says(labelling.Human, "ann", "mute") }, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStudy(labelling.AllPairs)
			for i := range 10 {
				id := fmt.Sprintf("s%d", i)
				s.sample(id, 1)
				s.says(labelling.Human, "ann", id, "ts")
			}
			tt.change(s)
			rate := s.report(t).rate(t, ClaimFalse)
			if (rate.Low != nil) != (tt.want == "") || !strings.Contains(rate.Reason, tt.want) || (rate.Value != nil) != tt.value {
				t.Errorf("%+v, want %q", rate, tt.want)
			}
			if tt.want == "" && rate.Total != 10 {
				t.Errorf("%d in the denominator, want 10", rate.Total)
			}
		})
	}
}

func (s *study) each(change func(*labelling.Sample)) {
	for _, x := range s.set.Samples {
		change(x)
	}
}

// An error in any attempt at a work item counts once.
func TestAttemptsCountOnce(t *testing.T) {
	s := newStudy(labelling.AllPairs)
	for i := range 6 {
		for k := range 2 {
			id := fmt.Sprintf("s%d-%d", i, k)
			x := s.sample(id, 2)
			x.Fixture, x.SessionGroup, x.Replicate = fixtures.Hash(fmt.Sprint(i)), fmt.Sprint(i), k
			label := "ts"
			if i == 0 {
				label = "uu" // in both attempts and all claims
			}
			s.says(labelling.Human, "ann", id, label, label)
		}
	}
	rate := s.report(t).rate(t, ClaimUnsupported)
	low, high := wilsonOf(1, 6)
	if rate.Count != 1 || rate.Total != 6 || !near(rate.Low, low) || !near(rate.High, high) {
		t.Errorf("%+v, want 1 of 6, %v to %v", rate, low, high)
	}
}

func TestStatesAndCaptures(t *testing.T) {
	s := newStudy(labelling.Discordant)
	for _, id := range []string{"a", "b", "c", "d"} {
		s.sample(id, 1)
	}
	s.set.Samples["d"].Capture.Status = labelling.CaptureUnknown
	s.fail("e")
	s.says(labelling.Human, "ann", "a", "ts")
	s.says(labelling.Human, "ben", "a").ReviewState = labelling.Withheld
	s.says(labelling.Human, "ann", "b").ReviewState = labelling.Withheld
	s.says(labelling.Human, "ann", "c").ReviewState = labelling.NotReviewed
	s.says(labelling.Human, "ann", "c", "t?") // later
	s.says(labelling.Judge, "robot", "c", "fs")
	s.ratings = append(s.ratings, labelling.Rating{SampleID: "d", CaseSHA256: "old", Rater: "ann", Kind: labelling.Human, ReviewState: labelling.Reviewed})
	two, five := 2, 5
	s.ratings[0].ExpectedQuality = &labelling.Quality{Relevance: &five, Withholding: &two}
	r := s.report(t)
	if want := map[labelling.ReviewState]int{labelling.Reviewed: 2, labelling.Withheld: 1, labelling.NotReviewed: 1}; !reflect.DeepEqual(r.People.ReviewState, want) {
		t.Errorf("people: %v, want %v", r.People.ReviewState, want)
	}
	if want := map[labelling.ReviewState]int{labelling.Reviewed: 1, labelling.Withheld: 0, labelling.NotReviewed: 3}; !reflect.DeepEqual(r.Judge.ReviewState, want) {
		t.Errorf("judge: %v, want %v", r.Judge.ReviewState, want)
	}
	if want := map[labelling.CaptureStatus]int{labelling.Captured: 3, labelling.CaptureFailed: 1, labelling.CaptureUnknown: 1}; !reflect.DeepEqual(r.Capture, want) {
		t.Errorf("captures: %v, want %v", r.Capture, want)
	}
	if r.Stale != 1 || r.Cases != 4 {
		t.Errorf("%d stale, %d cases", r.Stale, r.Cases)
	}
	if want := map[string]int{"5": 1, "null": 1}; !reflect.DeepEqual(r.People.Quality["relevance"], want) {
		t.Errorf("relevance: %v, want %v", r.People.Quality["relevance"], want)
	}
	// A claim whose grounding people do not know has no word of theirs.
	if got := r.Judge.Grounding; got.Judges[0].Units != 0 || got.Unresolved != 1 || r.People.Grounding.Abstained["ann"] != 1 {
		t.Errorf("grounding %+v, abstained %v", got, r.People.Grounding.Abstained)
	}
}

// Truth and quality are those judged blind, grounding that judged with everything in view;
// who rated in one stage alone is taken from that.
func TestStagesAreJoined(t *testing.T) {
	s := newStudy(labelling.Discordant)
	s.set.Grounding = map[string]*labelling.Case{}
	for _, id := range []string{"a", "b", "c"} {
		s.sample(id, 1)
		whole := *s.set.Cases[id]
		whole.CaseSHA256, whole.Request.Stage = "g-"+id, labelling.Grounded
		s.set.Grounding[id] = &whole
	}
	five := 5
	s.says(labelling.Human, "ann", "a", "t?").ExpectedQuality = &labelling.Quality{Relevance: &five}
	s.says(labelling.Human, "ann", "a", "fs").CaseSHA256 = "g-a"
	s.says(labelling.Human, "ann", "b", "tu")
	s.says(labelling.Human, "ann", "c", "us").CaseSHA256 = "g-c"
	r := s.report(t)
	want := map[labelling.Truth]map[labelling.Grounding]int{
		labelling.True:             {labelling.Supported: 1, labelling.GroundingUnsupported: 1, labelling.GroundingUnknown: 0},
		labelling.False:            {labelling.Supported: 0, labelling.GroundingUnsupported: 0, labelling.GroundingUnknown: 0},
		labelling.TruthUnsupported: {labelling.Supported: 1, labelling.GroundingUnsupported: 0, labelling.GroundingUnknown: 0},
	}
	if !reflect.DeepEqual(r.People.TruthGrounding, want) || r.People.Labels != 3 || r.Stale != 0 || r.Unblinded != 1 {
		t.Errorf("%v, %d labels, %d stale, %d unblinded; want %v", r.People.TruthGrounding, r.People.Labels, r.Stale, r.Unblinded, want)
	}
	if r.People.Quality["relevance"]["5"] != 1 || !strings.Contains(strings.Join(r.Notes, "\n"), "1 rating given in the grounding stage alone") {
		t.Errorf("quality %v, notes %q", r.People.Quality, r.Notes)
	}
}

// Both forms end with the two lines, and say the same twice.
func TestForms(t *testing.T) {
	s := newStudy(labelling.Discordant)
	s.sample("a", 2)
	s.says(labelling.Human, "ann", "a", "ts", "fu")
	s.says(labelling.Human, "ben", "a", "ts", "f?")
	s.says(labelling.Judge, "robot", "a", "ts", "ts")
	var last string
	for range 3 {
		r := s.report(t)
		var text bytes.Buffer
		if err := Text(&text, r); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(text.String(), "\n\nreleaseDecision: not-assessed\njudgeUse: advisory-only\n") {
			t.Errorf("the text ends otherwise:\n%s", text.String())
		}
		if !strings.HasSuffix(string(data), `,"releaseDecision":"not-assessed","judgeUse":"advisory-only"}`) {
			t.Errorf("the JSON ends otherwise:\n%s", data)
		}
		if now := text.String() + string(data); last != "" && now != last {
			t.Error("the same labels gave another report")
		} else {
			last = now
		}
	}
	for _, want := range []string{"Cohen's kappa of ann and ben", "no interval: the discordant pairs", "robot against people"} {
		if !strings.Contains(last, want) {
			t.Errorf("nothing of %q in\n%s", want, last)
		}
	}
	empty := newStudy(labelling.Discordant).report(t)
	var text bytes.Buffer
	if err := Text(&text, empty); err != nil || !strings.Contains(text.String(), "raters: none") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
