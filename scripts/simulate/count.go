package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// share is how often a test rejected, with its Monte-Carlo standard error.
type share struct {
	rejected, runs int
}

func (s share) rate() float64 { return float64(s.rejected) / float64(s.runs) }

func (s share) error() float64 {
	p := s.rate()
	return math.Sqrt(p * (1 - p) / float64(s.runs))
}

func (s share) rateText() string  { return fmt.Sprintf("%.4f", s.rate()) }
func (s share) errorText() string { return fmt.Sprintf("%.4f", s.error()) }

// holds says whether the share is at most the level. Where the simulation is too small
// to tell, it says that.
func (s share) holds() string {
	switch {
	case s.rate() <= level:
		return "yes"
	case s.rate() <= level+2*s.error():
		return "within 2 s.e."
	}
	return "NO"
}

// generator is that of one run. Runs have keys of a cipher for seeds, since seeds that
// are neighbours must not give numbers that have anything to do with each other.
func generator(seed, row, run uint64) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], row)
	binary.LittleEndian.PutUint64(key[16:], run)
	return rand.New(rand.NewChaCha8(key))
}

// count runs a trial many times and returns how often each of its tests rejected. Every
// run has a generator of its own, so that the number of cores changes nothing.
func count(ctx context.Context, runs int, seed, row uint64, tests int, once trial) ([]share, error) {
	workers := runtime.GOMAXPROCS(0)
	sums := make([][]int, workers)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		sums[w] = make([]int, tests)
		group.Go(func() error {
			for i := w; i < runs; i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				rejected, err := once(generator(seed, row, uint64(i)))
				if err != nil {
					return err
				}
				for t, r := range rejected {
					if r {
						sums[w][t]++
					}
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	shares := make([]share, tests)
	for t := range shares {
		shares[t].runs = runs
		for w := range workers {
			shares[t].rejected += sums[w][t]
		}
	}
	return shares, nil
}
