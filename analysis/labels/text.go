package labels

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/doubletake-dev/doubletake/analysis/agreement"
	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
)

// Text writes the report for a person. Names of raters and arms go out as they are: the
// writer has to make them fit for a terminal.
func Text(out io.Writer, r *Report) error {
	var b strings.Builder
	t := &textReport{w: tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)}
	t.p("Labels of run %s\n\n", r.Run)
	t.p("%s (%s pairs), %s\n", counted(r.Cases, "case"), r.Frame, counted(r.Claims, "claim"))
	t.p("capture: %d captured, %d unknown, %d failed (in no count below)\n",
		r.Capture[labelling.Captured], r.Capture[labelling.CaptureUnknown], r.Capture[labelling.CaptureFailed])
	t.p("coverage: %d exhaustive, %d selected\n", r.Coverage[labelling.Exhaustive], r.Coverage[labelling.Selected])
	for _, l := range r.Literals {
		t.p("annotated text in %s: %d present, %d abstain\n", l.Text, l.Present, l.Abstain)
	}
	t.people(&r.People)
	t.rates(r.Rates)
	t.judge(&r.Judge)
	if len(r.Notes) > 0 {
		t.p("\nNotes\n")
		for _, note := range r.Notes {
			t.p("  - %s\n", note)
		}
	}
	t.p("\nreleaseDecision: %s\njudgeUse: %s\n", r.ReleaseDecision, r.JudgeUse)
	if err := t.w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, b.String())
	return err
}

type textReport struct{ w *tabwriter.Writer }

func (t *textReport) p(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

func (t *textReport) tally(x *Tally) {
	t.p("  raters: %s\n", cmp.Or(strings.Join(x.Raters, ", "), "none"))
	t.p("  cases: %d reviewed, %d withheld, %d not reviewed\n",
		x.ReviewState[labelling.Reviewed], x.ReviewState[labelling.Withheld], x.ReviewState[labelling.NotReviewed])
	if x.Labels == 0 {
		return
	}
	t.p("  %s of claims\n", counted(x.Labels, "label"))
	t.p("  truth \\ grounding\t%s\n", strings.Join(names(labelling.Groundings()), "\t"))
	for _, truth := range labelling.Truths() {
		t.p("  %s", truth)
		for _, grounding := range labelling.Groundings() {
			t.p("\t%d", x.TruthGrounding[truth][grounding])
		}
		t.p("\n")
	}
	for _, c := range (labelling.Quality{}).Criteria() {
		t.p("  %s:", c.Name)
		for _, score := range slices.Sorted(maps.Keys(x.Quality[c.Name])) {
			name := "score " + score
			if score == unscored {
				name = "unscored"
			}
			t.p(" %d with %s", x.Quality[c.Name][score], name)
		}
		t.p("\n")
	}
}

func (t *textReport) people(x *People) {
	t.p("\nPeople\n")
	t.tally(&x.Tally)
	if len(x.Raters) == 0 {
		return
	}
	t.p("\nAgreement of people, before adjudication\n")
	t.agreement("truth", &x.Truth)
	t.agreement("grounding", &x.Grounding)
	for _, c := range (labelling.Quality{}).Criteria() {
		report := x.ByCriterion[c.Name]
		t.agreement(c.Name, &report)
	}
}

func (t *textReport) agreement(name string, r *agreement.Report) {
	t.p("  %s: raw agreement %s on %d of %s with two labels or more\n", name, value(r.Agreement, "undefined"), r.Overlap, counted(r.Units, "unit"))
	for _, rater := range slices.Sorted(maps.Keys(r.Abstained)) {
		t.p("    %s could not tell on %d: missing in these figures\n", rater, r.Abstained[rater])
	}
	if len(r.Raters) == 2 {
		k := &r.Pairs[0]
		t.kappa(fmt.Sprintf("%s and %s", k.First, k.Second), &k.Kappa, k.Explained, r.Categories)
	}
	if len(r.Raters) > 2 {
		a := &r.Alpha
		t.p("    Krippendorff's alpha %s", value(a.Value, "undefined: "+a.Reason))
		if a.Low != nil && a.High != nil {
			t.p(", %.3f to %.3f by drawing %s", *a.Low, *a.High, counted(a.Groups, "group"))
		} else if a.Value != nil {
			t.p(", no interval: %s", a.IntervalReason)
		}
		t.explained(a.Explained)
	}
}

func (t *textReport) kappa(who string, k *stats.Kappa, explained string, categories []string) {
	t.p("    Cohen's kappa of %s: %s", who, value(k.Value, "undefined: "+k.Reason))
	if k.Interval != nil {
		t.p(", %.0f%% interval %.3f to %.3f", 100*k.Interval.Conf, k.Interval.Low, k.Interval.High)
	} else if k.Value != nil {
		t.p(", no interval: %s", k.Reason)
	}
	if k.Observed != nil && k.Expected != nil {
		t.p("; observed %.3f, by chance %.3f", *k.Observed, *k.Expected)
	}
	t.explained(explained)
	if k.N > 0 {
		t.p("    marginals: %s against %s\n", marginals(k.Rows, categories), marginals(k.Cols, categories))
	}
}

func (t *textReport) explained(text string) {
	if text != "" {
		t.p(" (%s)", text)
	}
	t.p("\n")
}

func marginals(shares []float64, categories []string) string {
	var parts []string
	for i, share := range shares {
		if share > 0 && i < len(categories) {
			parts = append(parts, fmt.Sprintf("%s %.2f", categories[i], share))
		}
	}
	return strings.Join(parts, " ")
}

func (t *textReport) rates(list []Rate) {
	if len(list) == 0 {
		return
	}
	t.p("\nWork items with an error, by people's labels (an error in any attempt counts once)\n")
	t.p("  arm\tsampling\tsplit\terror\titems\tunlabelled\tdisputed\tno claim\tnot captured\trate\n")
	for _, r := range list {
		rate := "-"
		if r.Value != nil {
			rate = fmt.Sprintf("%d of %d", r.Count, r.Total)
		}
		if r.Low != nil && r.High != nil {
			rate += fmt.Sprintf(", %.4f to %.4f", *r.Low, *r.High)
		} else {
			rate += ", no interval: " + r.Reason
		}
		t.p("  %s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n",
			r.Arm, cmp.Or(r.Sampling, "-"), cmp.Or(r.Split, "-"), r.Error, r.WorkItems, r.Unlabelled, r.Disputed, r.Silent, r.Failed, rate)
	}
}

func (t *textReport) judge(x *JudgeReport) {
	t.p("\nJudge (advisory)\n")
	t.tally(&x.Tally)
	for _, section := range []struct {
		name       string
		categories []string
		judge      *agreement.Judge
	}{
		{"truth", names(labelling.Truths()), x.Truth},
		{"grounding", []string{string(labelling.Supported), string(labelling.GroundingUnsupported)}, x.Grounding},
	} {
		if section.judge == nil {
			continue
		}
		for i := range section.judge.Judges {
			t.against(section.name, section.categories, &section.judge.Judges[i])
		}
		if n := section.judge.Unresolved; n > 0 {
			t.p("  %s: without a word of people, or with people who differ: %s of a judge\n", section.name, counted(n, "unit"))
		}
	}
}

func (t *textReport) against(name string, categories []string, a *agreement.Against) {
	t.p("  %s, %s against people on %s: raw agreement %s\n", name, a.Judge, counted(a.Units, "resolved unit"), value(a.Agreement, "undefined"))
	if a.Abstained > 0 {
		t.p("    could not tell on %d more: missing there, neither found nor left below\n", a.Abstained)
	}
	if a.Units == 0 {
		return
	}
	t.p("    people \\ judge\t%s\n", strings.Join(categories, "\t"))
	for i, row := range a.Confusion {
		t.p("    %s", categories[i])
		for _, n := range row {
			t.p("\t%d", n)
		}
		t.p("\n")
	}
	t.kappa("the two", &a.Kappa, a.Explained, categories)
	t.share("sensitivity", &a.Sensitivity)
	t.share("specificity", &a.Specificity)
}

func (t *textReport) share(name string, s *agreement.Share) {
	t.p("    %s %d of %d", name, s.Count, s.Total)
	if s.Low != nil && s.High != nil {
		t.p(", %.4f to %.4f\n", *s.Low, *s.High)
		return
	}
	t.p(", no interval: %s\n", s.Reason)
}

// value prints a number that may not exist.
func value(x *float64, undefined string) string {
	if x == nil {
		return undefined
	}
	return fmt.Sprintf("%.3f", *x)
}

// counted writes a count with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
