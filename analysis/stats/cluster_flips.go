package stats

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// The sum of D_k with random signs is twice the sum of a random subset of |D_k|,
// minus their total. So the tails of the sign-flip test are tails of a subset sum
// S, here by three routes that give the same numbers and cost differently: by
// convolution, by two sorted halves for few large differences, and by convolution
// around the observed value for many clusters.

// Above these a route is too slow, or its numbers leave the range of a float64.
const (
	maxFlipWork      = 400_000_000 // steps of the plain convolution
	maxFlipClusters  = 1000        // clusters of the plain convolution: a bit is lost with each
	maxHalvesCluster = 40          // clusters of which all subsets of a half are listed
	maxTiltedWork    = 4_000_000_000
	maxTiltedCells   = 20_000_000
)

// flipTails returns the upper tail of S at a sum that is at least half the total.
// weights are ascending and not empty.
func flipTails(weights []int, total, at int) (tails, error) {
	work := float64(total) * float64(len(weights))
	switch {
	case work <= maxFlipWork && len(weights) <= maxFlipClusters:
		return convolvedTails(weights, total, at), nil
	case len(weights) <= maxHalvesCluster:
		return halvedTails(weights, at), nil
	}
	return tiltedTails(weights, total, at)
}

// convolvedTails adds one cluster after the other. Halving is exact.
func convolvedTails(weights []int, total, at int) tails {
	// Probabilities times 2^scale: a binary exponent more below is needed for
	// every cluster, and a float64 has 1074.
	const scale = 1000
	mass := make([]float64, total+1)
	mass[0] = math.Ldexp(1, scale)
	reach := 0
	for _, w := range weights {
		reach += w
		for s := reach; s >= w; s-- {
			mass[s] = (mass[s] + mass[s-w]) / 2
		}
		for s := w - 1; s >= 0; s-- {
			mass[s] /= 2
		}
	}
	tail := 0.0
	for s := total; s >= at; s-- {
		tail += mass[s]
	}
	fraction, exponent := math.Frexp(tail)
	return tails{
		point:   math.Ldexp(mass[at], -scale),
		tail:    math.Ldexp(tail, -scale),
		logTail: math.Log(fraction) + float64(exponent-scale)*math.Ln2,
	}
}

// halvedTails lists the subset sums of either half of the clusters and counts the
// pairs of them that reach the sum, in whole numbers.
func halvedTails(weights []int, at int) tails {
	low, high := subsetSums(weights[:len(weights)/2]), subsetSums(weights[len(weights)/2:])
	reaching, equal := 0, 0
	for _, s := range low {
		from, _ := slices.BinarySearch(high, at-s)
		above := sort.SearchInts(high[from:], at-s+1)
		reaching += len(high) - from
		equal += above
	}
	n := len(weights)
	return tails{
		point:   math.Ldexp(float64(equal), -n),
		tail:    math.Ldexp(float64(reaching), -n),
		logTail: math.Log(float64(reaching)) - float64(n)*math.Ln2,
	}
}

// subsetSums returns the sums of all subsets in ascending order.
func subsetSums(weights []int) []int {
	sums := []int{0}
	for _, w := range weights {
		for _, s := range sums[:len(sums):len(sums)] {
			sums = append(sums, s+w)
		}
	}
	slices.Sort(sums)
	return sums
}

// tiltedTails gives every cluster the odds exp(t*weight) of being in the subset,
// with t such that the sum is expected where it was observed. There the tail is no
// small number and everything far away is negligible, so that a window of some
// twenty standard deviations is enough; the factor between the two distributions
// is known in closed form:
//
//	P(S = s) = P_t(S = s) exp(-t s) prod_k (1 + exp(t w_k))/2
//
//	H. E. Daniels, Annals of Mathematical Statistics 25, 1954 (the tilt).
func tiltedTails(weights []int, total, at int) (tails, error) {
	if at == total {
		// The whole set: there is no finite tilt.
		logTail := -float64(len(weights)) * math.Ln2
		tail := math.Exp(logTail)
		return tails{point: tail, tail: tail, logTail: logTail}, nil
	}
	t := 0.0
	if 2*at > total {
		// Above this bound less than one unit of the total is expected to be left out.
		t = bisect(0, 2*math.Log(4*float64(total))/float64(weights[0]), func(t float64) bool {
			mean := 0.0
			for _, w := range weights {
				mean += float64(w) / (1 + math.Exp(-t*float64(w)))
			}
			return mean < float64(at)
		})
	}
	window, err := tiltedWindow(weights, t)
	if err != nil {
		return tails{}, err
	}
	all, reaching := 0.0, 0.0
	for i, mass := range window.mass {
		all += mass
		if s := window.from + i; s >= at {
			reaching += mass * math.Exp(-t*float64(s-at))
		}
	}
	if reaching < 1e-15 {
		return tails{}, fmt.Errorf("stats: the differences of %d clusters are too uneven for the exact test", len(weights))
	}
	logFactor := tiltFactor(weights, t) - t*float64(at)
	point := 0.0
	if i := at - window.from; i >= 0 && i < len(window.mass) {
		point = window.mass[i]
	}
	// Dividing by all takes out how far the rounded odds are from adding up to 1.
	logTail := math.Log(reaching/all) + logFactor
	return tails{point: point / all * math.Exp(logFactor), tail: math.Exp(logTail), logTail: logTail}, nil
}

// massWindow holds the probabilities of the sums from, from+1, ...
type massWindow struct {
	from int
	mass []float64
}

// tiltFactor returns the logarithm of prod_k (1 + exp(t w_k))/2. Equal weights are
// multiplied, since adding the same term again and again rounds the same way.
func tiltFactor(weights []int, t float64) float64 {
	factor := 0.0
	for from := 0; from < len(weights); {
		w := weights[from]
		count := sort.SearchInts(weights[from:], w+1)
		x := t * float64(w)
		factor += float64(count) * (x + math.Log1p(math.Expm1(-x)/2))
		from += count
	}
	return factor
}

// tiltedWindow convolves and cuts off what is negligible at either end.
func tiltedWindow(weights []int, t float64) (massWindow, error) {
	const negligible = 1e-40
	window, work := massWindow{mass: []float64{1}}, 0
	for _, w := range weights {
		x := t * float64(w)
		in, out := 1/(1+math.Exp(-x)), math.Exp(-x)/(1+math.Exp(-x))
		size := len(window.mass) + w
		if work += size; work > maxTiltedWork || size > maxTiltedCells {
			return massWindow{}, fmt.Errorf("stats: the differences of %d clusters are too large for the exact test", len(weights))
		}
		window.mass = slices.Grow(window.mass, w)[:size]
		clear(window.mass[size-w:])
		for s := size - 1; s >= w; s-- {
			window.mass[s] = window.mass[s]*out + window.mass[s-w]*in
		}
		for s := min(w, size) - 1; s >= 0; s-- {
			window.mass[s] *= out
		}
		low, high := 0, size
		for window.mass[low] < negligible {
			low++
		}
		for window.mass[high-1] < negligible {
			high--
		}
		window.from += low
		window.mass = window.mass[low:high]
	}
	return window, nil
}
