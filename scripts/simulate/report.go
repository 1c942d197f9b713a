package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// onceWorlds are sessions of several sizes, alone and alike inside.
func (s settings) onceWorlds() []world {
	d := s.discordance
	return []world{
		equal(40, 1, 0, d), equal(10, 4, 0, d), equal(40, 5, 0, d),
		equal(10, 4, 0.5, d), equal(40, 5, 0.5, d), equal(8, 25, 0.3, d),
	}
}

func (s settings) watchedWorlds() []world {
	d := s.discordance
	return []world{equal(300, 1, 0, d), equal(60, 5, 0.5, d), equal(30, 25, 0.3, d)}
}

// worseWorlds are candidates that lose more than they gain.
func worseWorlds() []world {
	return []world{
		{40, 1, 0, 0.20, 0.02}, {40, 5, 0, 0.10, 0.02}, {40, 5, 0.3, 0.10, 0.02},
		{200, 1, 0, 0.05, 0.01}, {200, 1, 0, 0.10, 0.02}, {8, 25, 0.3, 0.20, 0.02},
	}
}

// report prints the tables in Markdown, with the command that makes them.
func report(ctx context.Context, out io.Writer, s settings) error {
	fmt.Fprintf(out, `# How often the tests reject

Made by

`+"```console\n$ %s\n```"+`

The share of simulated runs in which a test at level %v rejects; s.e. is its Monte-Carlo standard error.
In a world of K x n there are K sessions of n pairs; rho is the correlation of direction between two
discordant pairs of one session.

## The candidate is not worse, one look

%.4g%% of the pairs are discordant, losses and gains alike. %d runs a row.

`, s.command(), level, 100*s.discordance, s.sims)
	table := newTable(out, "sessions x pairs", "rho", "test", "rejected", "s.e.", fmt.Sprintf("<= %v", level))
	row := uint64(0)
	for _, w := range s.onceWorlds() {
		row++
		shares, err := count(ctx, s.sims, s.seed, row, len(onceTests()), w.once)
		if err != nil {
			return err
		}
		for i, test := range onceTests() {
			table.row(w.size(), w.rho, test, shares[i].rateText(), shares[i].errorText(), shares[i].holds())
		}
	}
	if err := table.end(); err != nil {
		return err
	}

	fmt.Fprintf(out, `
## The candidate is not worse, %d looks

Somebody looks %[1]d times, evenly spaced, and stops at the first rejection. The e-process by pair may be
looked at as often as one likes only where pairs are independent. %d runs a row.

`, s.looks, s.watched)
	table = newTable(out, "sessions x pairs", "rho", "test", "rejected", "s.e.", fmt.Sprintf("<= %v", level))
	for _, w := range s.watchedWorlds() {
		row++
		shares, err := count(ctx, s.watched, s.seed, row, len(watchedTests()), w.watch(s.looks))
		if err != nil {
			return err
		}
		for i, test := range watchedTests() {
			table.row(w.size(), w.rho, test, shares[i].rateText(), shares[i].errorText(), shares[i].holds())
		}
	}
	if err := table.end(); err != nil {
		return err
	}

	fmt.Fprintf(out, `
## The candidate is worse

How often the gate finds it, losses and gains being shares of the pairs. Exact is the power that
enumeration gives where every session has one pair. Stopping early costs power: what may be looked at
at any time must ask for more. %d runs a row.

`, s.power)
	table = newTable(out, "sessions x pairs", "rho", "losses", "gains", "test", "rejected", "s.e.", "exact")
	for _, w := range worseWorlds() {
		row++
		shares, err := count(ctx, s.power, s.seed, row, len(powerTests()), w.find)
		if err != nil {
			return err
		}
		exact, err := w.exactPower()
		if err != nil {
			return err
		}
		for i, test := range powerTests() {
			if i > 0 {
				exact = ""
			}
			table.row(w.size(), w.rho, w.loss, w.gain, test, shares[i].rateText(), shares[i].errorText(), exact)
		}
	}
	return table.end()
}

func (w world) size() string { return fmt.Sprintf("%d x %d", w.sessions, w.pairs) }

// exactPower is empty where sessions have several pairs.
func (w world) exactPower() (string, error) {
	if w.pairs > 1 {
		return "", nil
	}
	power, err := stats.Power(w.sessions, w.loss, w.gain, level)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%.4f", power.Worse), nil
}

// markdown is a table with aligned columns.
type markdown struct{ out *tabwriter.Writer }

func newTable(out io.Writer, columns ...string) markdown {
	table := markdown{tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)}
	cells, rules := make([]any, len(columns)), make([]any, len(columns))
	for i, column := range columns {
		cells[i], rules[i] = column, "---"
	}
	table.row(cells...)
	table.row(rules...)
	return table
}

func (m markdown) row(cells ...any) {
	for _, cell := range cells {
		fmt.Fprintf(m.out, "| %v\t", cell)
	}
	fmt.Fprintln(m.out, "|")
}

func (m markdown) end() error { return m.out.Flush() }
