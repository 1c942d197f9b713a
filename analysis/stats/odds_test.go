package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestOddsGold(t *testing.T) {
	for _, row := range gold(t, "clopper_pearson_or.csv") {
		odds := must(ConditionalOddsRatio(row.int("b"), row.int("c"), row.float("conf")))
		checkUnbounded(row, "or_hat", odds.Ratio, odds.Unbounded)
		for prefix, interval := range map[string]*OddsInterval{"cp": odds.Exact, "midp": odds.MidP} {
			row.interval(prefix+"_p", &interval.Share, 1e-12)
			row.absolute(prefix+"_or_lo", interval.Low, 1e-12)
			checkUnbounded(row, prefix+"_or_hi", interval.High, interval.Unbounded)
		}
	}
}

func checkUnbounded(row goldRow, name string, got *float64, unbounded bool) {
	row.t.Helper()
	infinite := row.text(name) == "Inf"
	if unbounded != infinite || (got == nil) != infinite {
		row.t.Errorf("line %d: %s: %v, unbounded %v, want %s", row.line, name, got, unbounded, row.text(name))
		return
	}
	if !infinite {
		row.absolute(name, *got, 1e-12)
	}
}

func TestOddsPublished(t *testing.T) {
	five := must(ConditionalOddsRatio(5, 0, 0.95))
	if five.Ratio != nil || !five.Unbounded || five.Exact.High != nil || !five.Exact.Unbounded {
		t.Errorf("5/0 is bounded: %+v", five)
	}
	within(t, "5/0, share", five.Exact.Share.Low, math.Pow(0.025, 0.2), 1e-12)
	within(t, "5/0, odds", five.Exact.Low, 0.9164, 5e-5)
	none := must(ConditionalOddsRatio(0, 0, 0.95))
	if none.Ratio != nil || none.Unbounded || none.Exact != nil || none.MidP != nil || none.Reason != ReasonNoDiscordant {
		t.Errorf("0/0 has odds: %+v", none)
	}
}

func TestOddsErrors(t *testing.T) {
	if _, err := ConditionalOddsRatio(-1, 0, 0.95); err == nil {
		t.Error("no error for a negative count")
	}
	if _, err := ConditionalOddsRatio(1, 1, 1); err == nil {
		t.Error("no error for confidence 1")
	}
}

func TestOddsAgreeWithTheTests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		losses, gains := rapid.IntRange(0, 60).Draw(t, "losses"), rapid.IntRange(0, 60).Draw(t, "gains")
		if losses+gains == 0 {
			return
		}
		odds, test := must(ConditionalOddsRatio(losses, gains, 0.95)), must(McNemar(losses, gains))
		if excludesOne(odds.Exact) != (test.PTwo < 0.05) {
			t.Fatalf("exact interval %+v, p %v", odds.Exact, test.PTwo)
		}
		if excludesOne(odds.MidP) != (test.PMidTwoDoubled < 0.05) {
			t.Fatalf("mid-p interval %+v, p %v", odds.MidP, test.PMidTwoDoubled)
		}
		if odds.MidP.Low < odds.Exact.Low || odds.MidP.Share.High > odds.Exact.Share.High {
			t.Fatalf("mid-p %+v is not inside exact %+v", odds.MidP, odds.Exact)
		}
		mirror := must(ConditionalOddsRatio(gains, losses, 0.95))
		if losses > 0 && math.Abs(*mirror.Exact.High*odds.Exact.Low-1) > 1e-12 {
			t.Fatalf("low %v, mirrored high %v", odds.Exact.Low, *mirror.Exact.High)
		}
	})
}

func excludesOne(i *OddsInterval) bool {
	return i.Low > 1 || (i.High != nil && *i.High < 1)
}

// The odds of a share that is nearly 1 keep their digits: of 10^9 losses alone the lower
// limit is 1/(0.025^-1e-9 - 1).
func TestOddsRatioOfManyLosses(t *testing.T) {
	const n = 1_000_000_000
	odds := must(ConditionalOddsRatio(n, 0, 0.95))
	want := 1 / math.Expm1(-math.Log(0.025)/n)
	within(t, "lower limit", odds.Exact.Low, want, 1e-12*want)
	within(t, "upper limit of the mirror", *must(ConditionalOddsRatio(0, n, 0.95)).Exact.High, 1/want, 1e-12/want)
}
