package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay/offline"
)

// level is the nominal one of the behaviour rows together, and of churn.
const level = 0.05

// play plays many nights at one flip rate, each with a seed of its own.
func (s settings) play(ctx context.Context, st *stage, row int) ([]outcome, error) {
	outcomes := make([]outcome, s.nights)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range outcomes {
		group.Go(func() (err error) {
			outcomes[i], err = st.night(ctx, offline.Flip{Rate: s.flips[row], Seed: nightSeed(s.seed, row, i)})
			return err
		})
	}
	return outcomes, group.Wait()
}

// nightSeed is that of one night of one row.
func nightSeed(seed uint64, row, night int) uint64 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	binary.LittleEndian.PutUint64(key[8:], uint64(row))
	binary.LittleEndian.PutUint64(key[16:], uint64(night))
	return rand.NewChaCha8(key).Uint64()
}

// mean and its standard error.
func mean(values []float64) (m, se float64) {
	for _, v := range values {
		m += v
	}
	m /= float64(len(values))
	for _, v := range values {
		se += (v - m) * (v - m)
	}
	if len(values) > 1 {
		se = math.Sqrt(se / float64(len(values)-1) / float64(len(values)))
	}
	return m, se
}

// share is how many nights have something, with the standard error.
func share(outcomes []outcome, has func(*outcome) bool) (p, se float64) {
	n := 0
	for i := range outcomes {
		if has(&outcomes[i]) {
			n++
		}
	}
	p = float64(n) / float64(len(outcomes))
	return p, math.Sqrt(p * (1 - p) / float64(len(outcomes)))
}

// holds says whether a share of nights is at most the level, within two standard errors
// of a test that has it.
func holds(p float64, nights int) string {
	switch {
	case p <= level:
		return "yes"
	case p <= level+2*math.Sqrt(level*(1-level)/float64(nights)):
		return "within 2 s.e."
	}
	return "NO"
}

// flippedPairs is the expected share of control pairs in which any answer is flipped: no
// more can be discordant. Until its first flip an episode goes as it goes without.
func (st *stage) flippedPairs(rate float64) float64 {
	sum := 0.0
	for _, f := range st.playing {
		sum += 1 - math.Pow(1-rate, float64(2*st.answers[f.Hash]))
	}
	return sum / float64(len(st.playing))
}

// report prints the table in Markdown, with the command that makes it.
func report(ctx context.Context, out io.Writer, s settings, work string) error {
	st, err := newStage(ctx, s, work)
	if err != nil {
		return err
	}
	answers, groups := 0, map[string]bool{}
	for _, f := range st.playing {
		answers += st.answers[f.Hash]
		groups[f.SessionGroup()] = true
	}
	fmt.Fprintf(out, `# How the verdict copes with a model's noise

Made by

`+"```console\n$ %s\n```"+`

%s is compared with itself, in nights of %d fixtures (%d session groups) of the shipped set that end
alike under every arm where nothing is flipped. Each night the reference, the control and %s twice
are played on the embedded provider, of which an answer of the agent is not the due one with the
probability in the first column. An episode takes %.1f answers. %d nights a row; s.e. is the
Monte-Carlo standard error.

- flipped: the expected share of control pairs with any flipped answer. No more can be discordant; not
  every flipped answer fails a check.
- control: the mean share of control pairs that are discordant.
- noisy: nights beyond the noise budget of %v, whose verdict is invalid_noise whatever the rows say.
- blocked: nights in which either behaviour row (against the reference, against the incumbent) finds
  the compactor worse than itself. Nominal is %v for both together.
- churn: nights in which the candidate is found at level %v to disagree with the reference more often
  than the reference with itself.

`, s.command(), s.compactor, len(st.playing), len(groups), s.compactor, float64(answers)/float64(len(st.playing)), s.nights, analysis.DefaultSettings().NoiseBudget, level, level)
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	row := func(cells ...any) {
		for _, cell := range cells {
			fmt.Fprintf(table, "| %v\t", cell)
		}
		fmt.Fprintln(table, "|")
	}
	bound := fmt.Sprintf("<= %v", level)
	row("flip", "flipped", "control", "s.e.", "noisy", "blocked", "s.e.", bound, "by reference", "by incumbent", "churn", "s.e.", bound)
	row("---", "---", "---", "---", "---", "---", "---", "---", "---", "---", "---", "---", "---")
	for i, rate := range s.flips {
		outcomes, err := s.play(ctx, st, i)
		if err != nil {
			return err
		}
		discordance := make([]float64, len(outcomes))
		for k := range outcomes {
			discordance[k] = outcomes[k].discordance
		}
		m, se := mean(discordance)
		noisy, _ := share(outcomes, func(o *outcome) bool { return o.noisy })
		blocked, blockedError := share(outcomes, func(o *outcome) bool { return o.blocked })
		reference, _ := share(outcomes, func(o *outcome) bool { return o.reference })
		incumbent, _ := share(outcomes, func(o *outcome) bool { return o.incumbent })
		churn, churnError := share(outcomes, func(o *outcome) bool { return o.churn })
		row(rate, decimals(st.flippedPairs(rate)), decimals(m), decimals(se), decimals(noisy), decimals(blocked), decimals(blockedError), holds(blocked, s.nights),
			decimals(reference), decimals(incumbent), decimals(churn), decimals(churnError), holds(churn, s.nights))
	}
	return table.Flush()
}

func decimals(v float64) string { return fmt.Sprintf("%.4f", v) }
