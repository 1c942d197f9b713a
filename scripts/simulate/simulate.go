package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// level is the nominal one of every test, and evidence what a process must reach.
const (
	level    = 0.05
	evidence = 1 / level
)

type settings struct {
	sims int
	seed uint64
}

// design is K sessions of n pairs in a world where the candidate is not worse: a pair
// is discordant with probability discordance, and a loss with the session's own
// probability theta, which is Beta(a, a) over sessions. Two discordant pairs of one
// session then go the same way with correlation rho = 1/(2a+1).
type design struct {
	sessions, pairs int
	rho             float64
	discordance     float64
}

func (d design) play(rng *rand.Rand) []stats.Cluster {
	theta := distuv.Beta{Src: rng}
	if d.rho > 0 {
		theta.Alpha = (1 - d.rho) / (2 * d.rho)
		theta.Beta = theta.Alpha
	}
	clusters := make([]stats.Cluster, d.sessions)
	for i := range clusters {
		loss := 0.5
		if d.rho > 0 {
			loss = theta.Rand()
		}
		clusters[i].Pairs = d.pairs
		for range d.pairs {
			switch {
			case rng.Float64() >= d.discordance:
			case rng.Float64() < loss:
				clusters[i].Losses++
			default:
				clusters[i].Gains++
			}
		}
	}
	return clusters
}

// count returns how often each of several tests rejected. Every simulation has a
// generator of its own, so that the number of cores changes nothing.
func count(ctx context.Context, s settings, line uint64, tests int, once func(*rand.Rand) ([]bool, error)) ([]float64, error) {
	workers := runtime.GOMAXPROCS(0)
	sums := make([][]int, workers)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		sums[w] = make([]int, tests)
		group.Go(func() error {
			for i := w; i < s.sims; i += workers {
				if err := ctx.Err(); err != nil {
					return err
				}
				rejected, err := once(rand.New(rand.NewPCG(s.seed, line<<32+uint64(i))))
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
	rates := make([]float64, tests)
	for t := range rates {
		total := 0
		for w := range workers {
			total += sums[w][t]
		}
		rates[t] = float64(total) / float64(s.sims)
	}
	return rates, nil
}

// sum is the table of all clusters together.
func sum(clusters []stats.Cluster) (losses, gains int) {
	for _, c := range clusters {
		losses += c.Losses
		gains += c.Gains
	}
	return losses, gains
}

// once asks each test after the whole run: exact McNemar, which takes all pairs for
// independent, and the sign-flip test by session.
func (d design) once(rng *rand.Rand) ([]bool, error) {
	clusters := d.play(rng)
	pair, err := stats.McNemar(sum(clusters))
	if err != nil {
		return nil, err
	}
	flip, err := stats.SignFlip(clusters)
	if err != nil {
		return nil, err
	}
	return []bool{pair.PWorse <= level, flip.PWorse <= level}, nil
}

// watched is a run of which somebody takes a look so often, evenly spaced.
type watched struct {
	design
	looks int
}

// once asks at every look, and stops at the first rejection: the exact test as if each
// look were the only one, the sign-flip test likewise, the e-process over pairs and
// the one over sessions.
func (w watched) once(rng *rand.Rand) ([]bool, error) {
	clusters := w.play(rng)
	rejected := make([]bool, 4)
	var bySession stats.ClusterEProcess
	for seen, look := 0, 1; look <= w.looks; look++ {
		until := look * w.sessions / w.looks
		for ; seen < until; seen++ {
			var err error
			if bySession, err = bySession.Observe(clusters[seen]); err != nil {
				return nil, err
			}
		}
		losses, gains := sum(clusters[:seen])
		pair, err := stats.McNemar(losses, gains)
		if err != nil {
			return nil, err
		}
		flip, err := stats.SignFlip(clusters[:seen])
		if err != nil {
			return nil, err
		}
		_, worse, err := stats.LogEvidence(losses, gains)
		if err != nil {
			return nil, err
		}
		rejected[0] = rejected[0] || pair.PWorse <= level
		rejected[1] = rejected[1] || flip.PWorse <= level
		rejected[2] = rejected[2] || worse >= math.Log(evidence)
		// Only what stands at a look counts: in between nobody looked.
		rejected[3] = rejected[3] || bySession.LogWorse >= math.Log(evidence)
	}
	return rejected, nil
}

// discordance is the share of discordant pairs in every design.
const discordance = 0.3

func clusteredDesigns() []design {
	return []design{
		{10, 4, 0, discordance}, {40, 5, 0, discordance},
		{10, 4, 0.5, discordance}, {40, 5, 0.5, discordance}, {8, 25, 0.3, discordance},
	}
}

func watchedDesigns() []watched {
	independent, clustered := design{300, 1, 0, discordance}, design{60, 5, 0.5, discordance}
	return []watched{{independent, 1}, {independent, 5}, {independent, 30}, {clustered, 1}, {clustered, 30}}
}

// report prints both tables in Markdown.
func report(ctx context.Context, out io.Writer, s settings) error {
	fmt.Fprintf(out, "Share of runs in which a test at %v rejects although the candidate is not worse.\n", level)
	fmt.Fprintf(out, "%d runs a line, seed %d, standard error at most %.4f near %v; %.0f%% of the pairs are\n", s.sims, s.seed, math.Sqrt(level*(1-level)/float64(s.sims)), level, 100*discordance)
	fmt.Fprintf(out, "discordant; rho is the correlation of direction within a session.\n\n")

	line := uint64(0)
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintln(table, "| sessions x pairs\t| rho\t| exact McNemar\t| sign-flip by session\t|")
	fmt.Fprintln(table, "|---\t|---\t|---\t|---\t|")
	for _, d := range clusteredDesigns() {
		line++
		rates, err := count(ctx, s, line, 2, d.once)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "| %d x %d\t| %v\t| %.3f\t| %.3f\t|\n", d.sessions, d.pairs, d.rho, rates[0], rates[1])
	}
	if err := table.Flush(); err != nil {
		return err
	}

	fmt.Fprintf(out, "\nThe same where somebody looks several times and stops at the first rejection. An e-process\nrejects once it reaches %v.\n\n", evidence)
	fmt.Fprintln(table, "| sessions x pairs\t| rho\t| looks\t| exact McNemar\t| sign-flip\t| e-process by pair\t| e-process by session\t|")
	fmt.Fprintln(table, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, w := range watchedDesigns() {
		line++
		rates, err := count(ctx, s, line, 4, w.once)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "| %d x %d\t| %v\t| %d\t| %.3f\t| %.3f\t| %.3f\t| %.3f\t|\n", w.sessions, w.pairs, w.rho, w.looks, rates[0], rates[1], rates[2], rates[3])
	}
	return table.Flush()
}
