package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
)

func (t *textReport) test() {
	r := t.r
	t.title(Clean(testTitle(r)))
	for _, line := range append(testLines(r), otherLines(r)...) {
		t.wrap(2, line)
	}
}

func brief(c analysis.Comparison) string {
	line := fmt.Sprintf("%s, %s in %s, p(worse) %s", Plural(c.Test.Losses, "loss"), Plural(c.Test.Gains, "gain"), Plural(c.Test.Pairs, "pair"), PValue(c.Test.PCluster))
	if n := c.Pairs.Identical; n > 0 {
		line += fmt.Sprintf("; identical contexts: %d of %s, played once", n, Plural(c.Pairs.Total, "pair"))
	}
	return line
}

// testLines are the sentences about the pair test, for text, Markdown and HTML alike.
func testLines(r *analysis.Report) []string {
	x := &r.Test
	if x.Pairs == 0 && x.Groups == 0 {
		return append([]string{"no replayed pair has an outcome on both sides: there is nothing to test"}, acceptedLine(r)...)
	}
	table := r.Pairs.ByReference[pairing.Replayed]
	plays, decides := "", "; by session group, which decides, p(worse) "
	if x.Replicates > 1 {
		plays = "first plays: "
		decides = fmt.Sprintf("; by session group over the means of %s, which decides, p(worse) ", Plural(x.Replicates, "play"))
	}
	if r.Settings.Stop == analysis.StopEarly {
		decides = "; by session group p(worse) "
	}
	lines := []string{
		fmt.Sprintf("%sboth pass %d, losses %d, gains %d, both fail %d", plays, table.BothPass, x.Losses, x.Gains, table.BothFail),
		fmt.Sprintf("%sexact McNemar p(worse) %s, two-sided %s (mid-p %s, %s)%s%s%s", plays, PValue(x.PWorse), PValue(x.PTwo), PValue(x.PMidWorse), PValue(x.PMidTwo), decides, PValue(x.PCluster), obuchowski(x)),
	}
	lines = append(lines, differenceLines(r)...)
	lines = append(lines, conclusionLines(r)...)
	lines = append(lines, x.Warnings...)
	if x.MinP > x.Level && r.Settings.Stop != analysis.StopEarly {
		lines = append(lines, fmt.Sprintf("%s in %s cannot reach %.4g whatever the direction: no significance here is no evidence of safety", Plural(x.Losses+x.Gains, "discordant pair"), Plural(x.Groups, "session group"), x.Level))
	}
	lines = append(lines, detectableLine(r))
	return append(append(lines, sequentialLine(r)...), acceptedLine(r)...)
}

// obuchowski is the asymptotic companion of the sign-flip.
func obuchowski(x *analysis.Test) string {
	if x.Obuchowski.PWorse == nil {
		return ""
	}
	return fmt.Sprintf(" (Obuchowski, asymptotic, %s)", PValue(*x.Obuchowski.PWorse))
}

// detectableLine says what so many pairs can see.
func detectableLine(r *analysis.Report) string {
	x := &r.Test
	unit := Plural(x.Pairs, "pair")
	if x.Clustered {
		unit = Plural(x.Groups, "session") + " (counted as one pair each)"
	}
	switch {
	case x.DetectableReason != "":
		return "what loss rate " + unit + " find is not said: " + x.DetectableReason
	case x.SmallestDetectable != nil:
		return fmt.Sprintf("at the level %.4g a loss rate of %.0f%% or more is seen with power %.0f%% in %s; a smaller one can go unseen", x.Level, 100**x.SmallestDetectable, 100*r.Settings.Power, unit)
	}
	return fmt.Sprintf("at the level %.4g %s see no loss rate, however high, with power %.0f%%", x.Level, unit, 100*r.Settings.Power)
}

// differenceLines are the sizes of the effect.
func differenceLines(r *analysis.Report) []string {
	x := &r.Test
	if x.Difference == nil || x.Low == nil {
		return nil
	}
	how := fmt.Sprintf("%.0f%% Tango interval", 100*r.Settings.Confidence)
	if x.Clustered {
		how += " with sessions as the unit, approximate,"
	}
	lines := []string{fmt.Sprintf("failures differ by %s, above zero is worse (%s %s to %s%s)", points(*x.Difference), how, points(*x.Low), points(*x.High), newcombe(x))}
	if x.ByPair.Low != nil && x.Replicates <= 1 {
		lines = append(lines, fmt.Sprintf("if pairs of one session were independent of each other it would be %s to %s", points(*x.ByPair.Low), points(*x.ByPair.High)))
	}
	if o := x.OddsRatio; o.Low != nil {
		ratio, high := "infinite", "no upper limit"
		if o.Ratio != nil {
			ratio = fmt.Sprintf("%.2f", *o.Ratio)
		}
		if o.High != nil {
			high = fmt.Sprintf("%.2f", *o.High)
		}
		lines = append(lines, fmt.Sprintf("a loss is %s times as likely as a gain (conditional odds ratio by pair, exact limits %.2f and %s)", ratio, *o.Low, high))
	}
	return lines
}

func newcombe(x *analysis.Test) string {
	if x.Newcombe.Low == nil {
		return ""
	}
	pair := ""
	if x.Clustered {
		pair = ", by pair,"
	}
	return fmt.Sprintf("; Newcombe%s %s to %s", pair, points(*x.Newcombe.Low), points(*x.Newcombe.High))
}

// conclusionLines say what follows, and what doesn't.
func conclusionLines(r *analysis.Report) []string {
	x := &r.Test
	margin := points(x.Margin)
	p := ""
	if x.PNonInferior != nil {
		p = fmt.Sprintf(" (p %s)", PValue(*x.PNonInferior))
	}
	var lines []string
	switch x.Conclusion {
	case analysis.Worse:
		lines = append(lines, fmt.Sprintf("worse by more than chance, and not shown to be worse by less than the margin of %s%s", margin, p))
	case analysis.WorseWithin:
		lines = append(lines, fmt.Sprintf("worse by more than chance and by less than the margin of %s%s: real, and small on average", margin, p))
	case analysis.WithinMargin:
		lines = append(lines, fmt.Sprintf("not shown to be worse, and if worse, by less than the margin of %s%s", margin, p))
	default:
		lines = append(lines, fmt.Sprintf("inconclusive: neither worse by more than chance nor shown to be within the margin of %s%s", margin, p))
	}
	if x.Losses > 0 && x.Conclusion != analysis.Worse {
		lines = append(lines, fmt.Sprintf("%s: no p value, interval or margin above can see how bad a single one is; that is for the rows of critical failures, and for a person at the queue", Plural(x.Losses, "loss")))
	}
	return lines
}

// sequentialLine is the evidence session by session.
func sequentialLine(r *analysis.Report) []string {
	s := &r.Test.Sequential
	if s.Sessions == 0 {
		return nil
	}
	decides := ""
	if r.Settings.Stop == analysis.StopEarly {
		decides = ", which decides"
	}
	line := fmt.Sprintf("session by session in their random order: e-value %s after %s, anytime p %s%s", power10(s.Log10E), Plural(s.Sessions, "session"), PValue(s.PAnytime), decides)
	if s.CrossedAt != nil {
		line += fmt.Sprintf("; it reached 1/%.4g at session %d", r.Test.Level, *s.CrossedAt)
	}
	return []string{line}
}

// PValue prints a p value; a tiny one is not zero.
func PValue(p float64) string {
	if p < 0.0001 {
		return "<0.0001"
	}
	return fmt.Sprintf("%.4f", p)
}

// power10 prints 10 to the x.
func power10(x float64) string {
	if x > 6 || x < -3 {
		return fmt.Sprintf("10^%.1f", x)
	}
	return fmt.Sprintf("%.3g", math.Pow(10, x))
}

// acceptedLine says how the pairs on accepted traces did, if there are any.
func acceptedLine(r *analysis.Report) []string {
	a := r.Pairs.ByReference[pairing.Accepted]
	if a.Total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("apart from the test, %s on accepted traces: both pass %d, losses %d, gains %d", Plural(a.Total, "pair"), a.BothPass, a.Losses, a.Gains)}
}

func points(x float64) string { return fmt.Sprintf("%.1f points", 100*x) }

// controlLines are the noise floor, for text and Markdown alike.
func controlLines(r *analysis.Report) []string {
	c := &r.Control
	if c.Discordant == nil {
		return []string{"control: " + c.Reason}
	}
	lines := []string{fmt.Sprintf("control: the reference against itself disagrees in %d of %s (%.1f%%; budget %.1f%%)", c.Pairs.Losses+c.Pairs.Gains, Plural(c.Pairs.Scored(), "pair"), 100**c.Discordant, 100*c.Budget)}
	h := c.Churn
	if h == nil || h.Fixtures == 0 {
		return lines
	}
	line := fmt.Sprintf("churn: of %s the candidate disagrees with the reference in %d, the reference with itself in %d, p(more) %s", Plural(h.Fixtures, "fixture"), h.Candidate, h.Control, PValue(h.PMore))
	if h.Excess != nil && h.Low != nil {
		line += fmt.Sprintf("; excess over noise %s (%.0f%% Tango interval %s to %s)", points(*h.Excess), 100*r.Settings.Confidence, points(*h.Low), points(*h.High))
	}
	return append(lines, line)
}

func (t *textReport) control() {
	t.title("Noise floor")
	for _, line := range controlLines(t.r) {
		t.wrap(2, line)
	}
}

// slices prints the slices in which something disagrees.
func (t *textReport) slices() {
	rows := sliceTable(t.r)
	if len(rows) == 1 {
		return
	}
	t.title(sliceTitle(t.r))
	t.table(rows)
}

func (t *textReport) success() {
	t.title("Task success (no gate: it cannot see what this report is about)")
	for _, line := range rateLines(t.r) {
		t.wrap(2, line)
	}
}

// rateLines are the rates, a stratum a line, each with its interval or with why there is
// none.
func rateLines(r *analysis.Report) []string {
	var lines []string
	for i := 0; i < len(r.Rates); {
		first := r.Rates[i]
		var parts []string
		same := true
		end := i
		for ; end < len(r.Rates) && r.Rates[end].Sampling == first.Sampling && r.Rates[end].Split == first.Split; end++ {
			same = same && r.Rates[end].Reason == first.Reason
		}
		for _, rate := range r.Rates[i:end] {
			part := fmt.Sprintf("%s %s", rate.Arm, share(rate.Passed, rate.Scored))
			switch {
			case rate.Low != nil:
				part += fmt.Sprintf(" (95%% Wilson interval %.1f%% to %.1f%%)", 100**rate.Low, 100**rate.High)
			case !same:
				part += " (no interval: " + rate.Reason + ")"
			}
			parts = append(parts, part)
		}
		line := stratum(first) + ": episodes that pass: " + strings.Join(parts, ", ")
		if same && first.Reason != "" {
			line += "; no intervals: " + first.Reason
		}
		lines = append(lines, line)
		i = end
	}
	return lines
}

func stratum(r analysis.Rate) string {
	sampling, split := r.Sampling, r.Split
	if sampling == "" {
		sampling = "sampling unknown"
	}
	if split == "" {
		return sampling
	}
	return sampling + ", " + split
}
