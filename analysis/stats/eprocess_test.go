package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestEProcessGold(t *testing.T) {
	var process EProcess
	sequence := ""
	for _, row := range gold(t, "eprocess.csv") {
		if id := row.text("sequence_id"); id != sequence {
			sequence, process = id, EProcess{}
		}
		switch arrival := row.text("arrival"); arrival {
		case "b":
			process = process.Loss()
		case "c":
			process = process.Gain()
		default:
			t.Fatalf("line %d: arrival %q", row.line, arrival)
		}
		if process.Losses != row.int("b") || process.Gains != row.int("c") {
			t.Fatalf("line %d: %d losses, %d gains", row.line, process.Losses, process.Gains)
		}
		row.relative("e_two_sided", row.float("e_num")/row.float("e_den"), 1e-13)
		row.relative("e_two_sided", math.Exp(process.LogTwo), 1e-12)
		row.absolute("log_e_two_sided", process.LogTwo, 1e-13*max(1, math.Abs(process.LogTwo)))
		row.relative("e_worse_one_sided", math.Exp(process.LogWorse), 1e-12)
		row.relative("running_max_two", math.Exp(process.MaxLogTwo), 1e-12)
		row.relative("anytime_p_two", process.PTwo(), 1e-12)
		row.relative("running_max_worse", math.Exp(process.MaxLogWorse), 1e-12)
		row.relative("anytime_p_worse", process.PWorse(), 1e-12)
	}
}

// after plays losses and then gains.
func after(losses, gains int) EProcess {
	var e EProcess
	for range losses {
		e = e.Loss()
	}
	for range gains {
		e = e.Gain()
	}
	return e
}

func TestEProcessPureLosses(t *testing.T) {
	within(t, "one-sided after 3", math.Exp(after(3, 0).LogWorse), 4.83, 5e-3)
	within(t, "one-sided after 6", math.Exp(after(6, 0).LogWorse), 28.8, 0.05)
	within(t, "two-sided after 7", math.Exp(after(7, 0).LogTwo), 26.8, 0.05)
	for n := range 20 {
		if got := after(n, 0).PWorse() <= 0.05; got != (n >= 6) {
			t.Errorf("%d losses: one-sided alarm %v", n, got)
		}
		if got := after(n, 0).PTwo() <= 0.05; got != (n >= 7) {
			t.Errorf("%d losses: two-sided alarm %v", n, got)
		}
	}
}

// A candidate that is better must never look worse, however long it runs: the
// trap of subtracting from 1.
func TestEProcessTrap(t *testing.T) {
	for _, n := range []int{10, 100, 1000, 1_000_000} {
		two, worse, err := LogEvidence(n*3/10, n*7/10)
		if err != nil {
			t.Fatal(err)
		}
		if !(worse < 0) || math.IsInf(worse, 0) {
			t.Errorf("theta .3, %d pairs: log E+ = %v, log E = %v", n, worse, two)
		}
	}
	// 2 P(theta > 1/2) E for 0/n is sum/(pi a), of which the first terms are
	// known: it falls like 1/n.
	_, worse, _ := LogEvidence(0, 100_000)
	within(t, "E+ after 100000 gains", math.Exp(worse)*math.Pi*100_000.5, 2, 1e-4)
}

func TestEProcessErrors(t *testing.T) {
	if _, _, err := LogEvidence(-1, 0); err == nil {
		t.Error("no error for a negative count")
	}
	var e ClusterEProcess
	if _, err := e.Observe(Cluster{}); err == nil {
		t.Error("no error for an empty cluster")
	}
}

// Under the null the evidence is a fair bet: its mean over all sequences is 1.
func TestEProcessIsFair(t *testing.T) {
	for n := range 30 {
		two, worse := 0.0, 0.0
		for losses := range n + 1 {
			sequences := math.Exp(logBinomial(losses, n, 0.5, 0.5))
			logTwo, logWorse, err := LogEvidence(losses, n-losses)
			if err != nil {
				t.Fatal(err)
			}
			two += sequences * math.Exp(logTwo)
			worse += sequences * math.Exp(logWorse)
		}
		within(t, "mean of E", two, 1, 1e-12)
		within(t, "mean of E+", worse, 1, 1e-12)
	}
}

func TestEProcessLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		losses, gains := count(t, "losses"), count(t, "gains")
		two, worse := logEvidence(losses, gains)
		mirrored, better := logEvidence(gains, losses)
		if two != mirrored {
			t.Fatalf("E of %d/%d is %v, mirrored %v", losses, gains, two, mirrored)
		}
		// E is the mean of the two one-sided processes.
		if mean := logMeanExp([]float64{worse, better}); math.Abs(mean-two) > 1e-11*max(1, math.Abs(two)) {
			t.Fatalf("log mean of E+ and E- is %v, log E %v", mean, two)
		}
		// The update factor is known in closed form.
		next, _ := logEvidence(losses+1, gains)
		factor := math.Log(2 * (float64(losses) + 0.5) / float64(losses+gains+1))
		if math.Abs(next-two-factor) > 1e-11*max(1, math.Abs(two)) {
			t.Fatalf("a loss multiplied E by exp(%v), want exp(%v)", next-two, factor)
		}
	})
}

func TestEProcessOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arrivals := rapid.SliceOfN(rapid.Bool(), 0, 100).Draw(t, "losses")
		var process EProcess
		losses := 0
		for _, loss := range arrivals {
			before := process
			if loss {
				process = process.Loss()
				losses++
			} else {
				process = process.Gain()
			}
			if process.MaxLogWorse < before.MaxLogWorse || process.PWorse() > before.PWorse() || process.PTwo() > before.PTwo() {
				t.Fatalf("evidence was lost: %+v after %+v", process, before)
			}
		}
		if len(arrivals) == 0 {
			return
		}
		sorted := after(losses, len(arrivals)-losses)
		if sorted.LogTwo != process.LogTwo || sorted.LogWorse != process.LogWorse {
			t.Fatalf("the order matters: %+v, sorted %+v", process, sorted)
		}
	})
}

func TestClusterEProcess(t *testing.T) {
	var e ClusterEProcess
	for range 5 {
		e = must(e.Observe(Cluster{Pairs: 4, Losses: 4}))
	}
	want := (math.Pow(1.1, 5) + math.Pow(1.3, 5) + math.Pow(1.5, 5) + math.Pow(1.8, 5)) / 4
	within(t, "five broken sessions", math.Exp(e.LogWorse), want, 1e-12)
	within(t, "p", e.PWorse(), 1/want, 1e-12)
	// A gain cannot raise it, and cannot take back what was shown.
	f := must(e.Observe(Cluster{Pairs: 4, Gains: 4}))
	if f.LogWorse >= e.LogWorse || f.MaxLogWorse != e.MaxLogWorse || f.Clusters != 6 {
		t.Errorf("after a gain: %+v", f)
	}
	// Fair: losing and gaining a session are equally likely under the null.
	loss, gain := must(e.Observe(Cluster{Pairs: 2, Losses: 1})), must(e.Observe(Cluster{Pairs: 2, Gains: 1}))
	within(t, "mean", (math.Exp(loss.LogWorse)+math.Exp(gain.LogWorse))/2, math.Exp(e.LogWorse), 1e-12)
}
