package main

import (
	"bytes"
	"context"
	"math"
	"runtime"
	"testing"
)

// What holds by theorem must hold in a small simulation, within four standard errors;
// and the tests that are there as a warning must be seen to fail.
func TestLevels(t *testing.T) {
	s := settings{sims: 1500, seed: 3}
	limit := level + 4*math.Sqrt(level*(1-level)/float64(s.sims))
	for i, d := range clusteredDesigns() {
		rates, err := count(context.Background(), s, uint64(i), 2, d.once)
		if err != nil {
			t.Fatal(err)
		}
		if rates[1] > limit {
			t.Errorf("%+v: the sign-flip test rejects %v of equal candidates", d, rates[1])
		}
		if d.rho == 0 && rates[0] > limit {
			t.Errorf("%+v: the exact test rejects %v of equal candidates", d, rates[0])
		}
		if d.sessions == 8 && rates[0] < 2*level {
			t.Errorf("%+v: the exact test rejects only %v: the sessions aren't clustered", d, rates[0])
		}
	}
}

func TestLooks(t *testing.T) {
	s := settings{sims: 300, seed: 3}
	limit := level + 4*math.Sqrt(level*(1-level)/float64(s.sims))
	for i, w := range watchedDesigns() {
		rates, err := count(context.Background(), s, uint64(i), 4, w.once)
		if err != nil {
			t.Fatal(err)
		}
		if w.rho == 0 && rates[2] > limit {
			t.Errorf("%+v: the e-process by pair rejects %v of equal candidates", w, rates[2])
		}
		if rates[3] > limit {
			t.Errorf("%+v: the e-process by session rejects %v of equal candidates", w, rates[3])
		}
		if w.looks == 30 && rates[0] < 2*level {
			t.Errorf("%+v: peeking rejects only %v of equal candidates", w, rates[0])
		}
	}
}

func TestReportIsTheSameOnAnyNumberOfCores(t *testing.T) {
	var outs [2]bytes.Buffer
	for i, cores := range []int{1, 3} {
		before := runtime.GOMAXPROCS(cores)
		err := report(context.Background(), &outs[i], settings{sims: 20, seed: 5})
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
	}
	if outs[0].String() != outs[1].String() {
		t.Errorf("one core:\n%s\nthree cores:\n%s", &outs[0], &outs[1])
	}
}
