package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func statsCommand() *cli.Command {
	return &cli.Command{
		Name:  "stats",
		Usage: "the statistics of the reports, on numbers of your own",
		Description: `A loss is a pair that the reference passed and the candidate failed, a gain the reverse.
Differences are losses minus gains: positive is worse. With --json every number has all
its digits, and what is undefined is null with the reason beside it.

   doubletake stats mcnemar 8 1
   doubletake stats diff 30 8 1 1 --conf 0.9
   doubletake stats kappa --matrix 20,5,10,15`,
		Subcommands: []*cli.Command{
			statsMcNemar(), statsDiff(), statsWilson(), statsKappa(), statsCluster(),
			statsEProcess(), statsPower(), statsAdjust(),
		},
	}
}

func confFlag() cli.Flag {
	return &cli.Float64Flag{Name: "conf", Usage: "two-sided confidence of intervals, a `SHARE`", Value: 0.95, EnvVars: twin("conf")}
}

func alphaFlag() cli.Flag {
	return &cli.Float64Flag{Name: "alpha", Usage: "level of the tests, a `SHARE`", Value: 0.05, EnvVars: twin("alpha")}
}

func statsMcNemar() *cli.Command {
	return &cli.Command{
		Name:      "mcnemar",
		Usage:     "are losses and gains equally likely? The exact, mid-p and asymptotic tests, and the odds",
		ArgsUsage: "LOSSES GAINS",
		Description: `   doubletake stats mcnemar 12 3
   doubletake stats mcnemar 12 3 --json`,
		Flags: []cli.Flag{confFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			n, err := countArguments(c, "LOSSES", "GAINS")
			if err != nil {
				return err
			}
			found, err := pairFigures(n[0], n[1], c.Float64("conf"))
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func pairFigures(losses, gains int, conf float64) (figures, error) {
	test, err := stats.McNemar(losses, gains)
	if err != nil {
		return nil, err
	}
	point, err := stats.PointProbability(losses, gains)
	if err != nil {
		return nil, err
	}
	odds, err := stats.ConditionalOddsRatio(losses, gains, conf)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("losses", losses)
	f.add("gains", gains)
	f.add("n", losses+gains)
	f.add("pmf", point)
	f.add("p_exact_two", test.PTwo)
	f.add("p_exact_worse", test.PWorse)
	f.add("p_exact_better", test.PBetter)
	f.add("p_midp_two", test.PMidTwo)
	f.add("p_midp_worse", test.PMidWorse)
	f.add("p_midp_two_doubled", test.PMidTwoDoubled)
	f.optional("chi2", test.Chi2, test.Reason)
	f.optional("p_chi2", test.PChi2, test.Reason)
	f.optional("chi2_cc", test.Chi2Corrected, test.Reason)
	f.optional("p_chi2_cc", test.PChi2Corrected, test.Reason)
	f.add("log10_p_exact_two", test.Log10PTwo)
	f.add("log10_p_exact_worse", test.Log10PWorse)
	f.add("min_p", test.MinP)
	f.add("attainable", test.Attainable)
	f.add("conf", conf)
	f.optional("p_hat", ratio(losses, losses+gains), test.Reason)
	f.optional("or_hat", odds.Ratio, unboundedOr(odds.Unbounded, odds.Reason))
	f.odds("cp", odds.Exact, odds.Reason)
	f.odds("midp", odds.MidP, odds.Reason)
	return f, nil
}

// unboundedOr is why a ratio has no number: it is infinite, or there is none.
func unboundedOr(unbounded bool, reason string) string {
	if unbounded {
		return "unbounded"
	}
	return reason
}

func ratio(x, n int) *float64 {
	if n == 0 {
		return nil
	}
	s := float64(x) / float64(n)
	return &s
}

// odds adds the limits for the share of losses and for the odds.
func (f *figures) odds(prefix string, interval *stats.OddsInterval, reason string) {
	if interval == nil {
		for _, name := range []string{"_p_lo", "_p_hi", "_or_lo", "_or_hi"} {
			f.optional(prefix+name, nil, reason)
		}
		return
	}
	f.add(prefix+"_p_lo", interval.Share.Low)
	f.add(prefix+"_p_hi", interval.Share.High)
	f.add(prefix+"_or_lo", interval.Low)
	f.optional(prefix+"_or_hi", interval.High, unboundedOr(interval.Unbounded, reason))
}

func statsDiff() *cli.Command {
	return &cli.Command{
		Name:      "diff",
		Usage:     "the difference of the pass rates with its intervals, and non-inferiority at 2, 5 and 10 points",
		ArgsUsage: "BOTH LOSSES GAINS NEITHER",
		Description: `Tango's interval is the one to use; the others are there for comparison. ni_p_m05 is the
p value of "worse by less than 5 points"; it is for a margin fixed before the run.

   doubletake stats diff 197 3 0 0
   doubletake stats diff 59 6 16 80 --conf 0.9 --json`,
		Flags: []cli.Flag{confFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			n, err := countArguments(c, "BOTH", "LOSSES", "GAINS", "NEITHER")
			if err != nil {
				return err
			}
			found, err := differenceFigures(stats.ClusterTable{BothPass: n[0], Losses: n[1], Gains: n[2], BothFail: n[3]}, c.Float64("conf"))
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func differenceFigures(t stats.ClusterTable, conf float64) (figures, error) {
	phi, err := stats.Correlation(t.BothPass, t.Losses, t.Gains, t.BothFail)
	if err != nil {
		return nil, err
	}
	n := t.BothPass + t.Losses + t.Gains + t.BothFail
	simple := func(method func(losses, gains, n int, conf float64) (stats.Estimate, error)) func() (stats.Estimate, error) {
		return func() (stats.Estimate, error) { return method(t.Losses, t.Gains, n, conf) }
	}
	whole := func(method func(bothPass, losses, gains, bothFail int, conf float64) (stats.Estimate, error)) func() (stats.Estimate, error) {
		return func() (stats.Estimate, error) {
			return method(t.BothPass, t.Losses, t.Gains, t.BothFail, conf)
		}
	}
	var f figures
	f.add("both_pass", t.BothPass)
	f.add("losses", t.Losses)
	f.add("gains", t.Gains)
	f.add("both_fail", t.BothFail)
	f.add("n", n)
	f.add("conf", conf)
	for i, method := range []struct {
		name string
		make func() (stats.Estimate, error)
	}{
		{"wald", simple(stats.WaldInterval)},
		{"agresti_min", simple(stats.AgrestiMinInterval)},
		{"bonett_price", simple(stats.BonettPriceInterval)},
		{"newcombe8", whole(stats.NewcombeUncorrectedInterval)},
		{"newcombe10", whole(stats.NewcombeInterval)},
		{"tango", simple(stats.TangoInterval)},
	} {
		estimate, err := method.make()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			f.optional("delta", estimate.Value, estimate.Reason)
		}
		f.interval(method.name, estimate)
	}
	f.add("phi10", phi)
	for _, margin := range []float64{0.02, 0.05, 0.10} {
		test, err := stats.NonInferiority(t.Losses, t.Gains, n, margin, 0.05)
		if err != nil {
			return nil, err
		}
		suffix := fmt.Sprintf("_m%02.0f", 100*margin)
		f.optional("ni_z"+suffix, test.Z, test.Reason)
		f.optional("ni_p"+suffix, test.P, test.Reason)
	}
	return f, nil
}

func statsWilson() *cli.Command {
	return &cli.Command{
		Name:      "wilson",
		Usage:     "a rate with Wilson's interval, plain and corrected for continuity, and the exact one",
		ArgsUsage: "X N",
		Description: `   doubletake stats wilson 0 40
   doubletake stats wilson 3 200 --conf 0.9`,
		Flags: []cli.Flag{confFlag(), jsonFlag()},
		Action: func(c *cli.Context) error {
			n, err := countArguments(c, "X", "N")
			if err != nil {
				return err
			}
			var f figures
			f.add("x", n[0])
			f.add("n", n[1])
			f.add("conf", c.Float64("conf"))
			for i, method := range []struct {
				name string
				make func(x, n int, conf float64) (stats.Estimate, error)
			}{
				{"wilson", stats.WilsonInterval},
				{"wilson_cc", stats.WilsonCorrectedInterval},
				{"cp", stats.ClopperPearsonInterval},
			} {
				estimate, err := method.make(n[0], n[1], c.Float64("conf"))
				if err != nil {
					return err
				}
				if i == 0 {
					f.optional("estimate", estimate.Value, estimate.Reason)
				}
				f.interval(method.name, estimate)
			}
			return f.print(c)
		},
	}
}

func statsKappa() *cli.Command {
	return &cli.Command{
		Name:  "kappa",
		Usage: "agreement of two raters: Cohen's kappa, weighted kappas, PABAK",
		Description: `The matrix is square, row by row: how many units got label i from the first rater and
label j from the second. The interval is at 95%.

   doubletake stats kappa --matrix 20,5,10,15
   doubletake stats kappa --matrix 88,14,18,10,40,10,2,6,12 --json`,
		Flags: []cli.Flag{stringFlag("matrix", "the counts, a `LIST` with commas"), jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 0 || c.String("matrix") == "" {
				return usageError("stats kappa wants --matrix and nothing else (doubletake stats kappa --help)")
			}
			table, err := squareTable(c.String("matrix"))
			if err != nil {
				return err
			}
			found, err := kappaFigures(table)
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func squareTable(list string) ([][]int, error) {
	var cells []int
	for _, field := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, usageError("--matrix: %q is no count", field)
		}
		cells = append(cells, n)
	}
	k := 0
	for k*k < len(cells) {
		k++
	}
	if k == 0 || k*k != len(cells) {
		return nil, usageError("--matrix has %d counts: want 4, 9, 16 or another square", len(cells))
	}
	return slices.Collect(slices.Chunk(cells, k)), nil
}

func kappaFigures(table [][]int) (figures, error) {
	kappa, err := stats.CohenKappa(table, 0.95)
	if err != nil {
		return nil, err
	}
	weighted, err := stats.WeightedKappa(table)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("k", len(table))
	f.add("matrix_rowmajor", slices.Concat(table...))
	f.add("n", kappa.N)
	f.optional("p_o", kappa.Observed, kappa.Reason)
	f.optional("p_e", kappa.Expected, kappa.Reason)
	f.optional("kappa", kappa.Value, kappa.Reason)
	f.optional("se_nonnull", kappa.SE, kappa.Reason)
	f.optional("se_null0", kappa.SENull, kappa.Reason)
	f.interval("ci95", kappa.Estimate)
	reason := kappa.Reason
	if kappa.Z == nil && reason == "" {
		reason = stats.ReasonZeroSE
	}
	f.optional("z_null", kappa.Z, reason)
	f.optional("kappa_linear", weighted.Linear, weighted.Reason)
	f.optional("kappa_quadratic", weighted.Quadratic, weighted.Reason)
	f.optional("pabak", weighted.PABAK, weighted.Reason)
	return f, nil
}

func statsCluster() *cli.Command {
	return &cli.Command{
		Name:  "cluster",
		Usage: "the tests for pairs that come in sessions",
		Description: `The file has the columns cluster,a,b,c,d, a line a cluster: a pairs that both arms passed,
b losses, c gains, d that both failed. signflip_p_worse is the gate's test.

   doubletake stats cluster --csv sessions.csv`,
		Flags: []cli.Flag{stringFlag("csv", "read the clusters from `FILE`, or from stdin for -"), jsonFlag()},
		Action: func(c *cli.Context) error {
			path := c.String("csv")
			if c.NArg() != 0 || path == "" {
				return usageError("stats cluster wants --csv and nothing else (doubletake stats cluster --help)")
			}
			tables, err := readClusters(path, c.App.Reader)
			if err != nil {
				return err
			}
			found, err := clusterFigures(tables)
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func readClusters(path string, stdin io.Reader) ([]stats.ClusterTable, error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("reading the clusters: %w", err)
		}
		defer file.Close()
		in = file
	}
	tables, err := parseClusters(in)
	if err != nil {
		return nil, usageError("clusters %s: %w", path, err)
	}
	return tables, nil
}

func parseClusters(in io.Reader) ([]stats.ClusterTable, error) {
	reader := csv.NewReader(in)
	reader.TrimLeadingSpace = true
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("empty: want the columns cluster,a,b,c,d")
	}
	if err != nil {
		return nil, err
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	columns := [5]int{}
	for i, name := range []string{"cluster", "a", "b", "c", "d"} {
		if columns[i] = slices.Index(header, name); columns[i] < 0 {
			return nil, fmt.Errorf("no column %q: want cluster,a,b,c,d", name)
		}
	}
	var tables []stats.ClusterTable
	seen := map[string]int{}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return tables, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := reader.FieldPos(0)
		name := record[columns[0]]
		if first, twice := seen[name]; twice {
			return nil, fmt.Errorf("line %d: cluster %q stands on line %d already", line, name, first)
		}
		seen[name] = line
		var cells [4]int
		for i := range cells {
			if cells[i], err = strconv.Atoi(strings.TrimSpace(record[columns[i+1]])); err != nil {
				return nil, fmt.Errorf("line %d: %q is no count", line, record[columns[i+1]])
			}
		}
		tables = append(tables, stats.ClusterTable{BothPass: cells[0], Losses: cells[1], Gains: cells[2], BothFail: cells[3]})
	}
}

func clusterFigures(tables []stats.ClusterTable) (figures, error) {
	// First, since it is the one that looks at all four cells.
	eliasziw, err := stats.Eliasziw(tables)
	if err != nil {
		return nil, err
	}
	var clusters []stats.Cluster
	losses, gains := 0, 0
	for _, t := range tables {
		clusters = append(clusters, t.Cluster())
		losses += t.Losses
		gains += t.Gains
	}
	flip, err := stats.SignFlip(clusters)
	if err != nil {
		return nil, err
	}
	tests, err := stats.ClusterTests(clusters)
	if err != nil {
		return nil, err
	}
	sums, err := stats.SumClusters(clusters)
	if err != nil {
		return nil, err
	}
	pair, err := stats.McNemar(losses, gains)
	if err != nil {
		return nil, err
	}
	estimate, err := stats.ClusterInterval(clusters, 0.95)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("K", flip.Clusters)
	f.add("N", flip.Pairs)
	f.add("losses", losses)
	f.add("gains", gains)
	f.optional("mcnemar_chi2", pair.Chi2, pair.Reason)
	squares := []struct {
		name   string
		test   *stats.ChiSquare
		reason string
	}{
		{"obuchowski", tests.Obuchowski, tests.Reason},
		{"durkalski", tests.Durkalski, tests.Reason},
		{"yang", tests.Yang, tests.Reason},
		{"eliasziw", eliasziw.ChiSquare, eliasziw.Reason},
	}
	for _, s := range squares {
		if s.test == nil {
			f.optional(s.name+"_chi2", nil, s.reason)
			continue
		}
		f.add(s.name+"_chi2", s.test.Statistic)
	}
	for _, s := range squares {
		if s.test == nil {
			f.optional("p_"+s.name, nil, s.reason)
			continue
		}
		f.add("p_"+s.name, s.test.P)
	}
	f.add("sumD", sums.Sum)
	f.add("sumD2", sums.Squares)
	f.add("sumD2_centred", sums.Centred)
	f.add("signflip_p_worse", flip.PWorse)
	f.add("signflip_p_better", flip.PBetter)
	f.add("signflip_p_two", flip.PTwo)
	f.add("signflip_min_p", flip.MinP)
	f.add("mcnemar_exact_two", pair.PTwo)
	f.add("mcnemar_exact_worse", pair.PWorse)
	f.optional("diff", estimate.Value, estimate.Reason)
	f.optional("se_diff_cluster", estimate.SE, estimate.Reason)
	f.interval("diff95", estimate)
	return f, nil
}

func statsEProcess() *cli.Command {
	return &cli.Command{
		Name:      "eprocess",
		Usage:     "evidence that may be looked at after every discordant pair",
		ArgsUsage: "SEQUENCE",
		Description: `The sequence is an L for a loss and a G for a gain, in the order in which they came.
One may stop at any step, and reject at level alpha once anytime_p_worse is at most alpha.

   doubletake stats eprocess LGLLGLLLL`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usageError("stats eprocess wants one sequence of L and G, have %d (doubletake stats eprocess --help)", c.NArg())
			}
			steps, err := evidenceFigures(c.Args().First())
			if err != nil {
				return err
			}
			return printFigureTable(c, "steps", steps, "step", "arrival", "losses", "gains", "e_two_sided", "e_worse_one_sided", "anytime_p_two", "anytime_p_worse")
		},
	}
}

func evidenceFigures(sequence string) ([]figures, error) {
	steps := []figures{}
	var process stats.EProcess
	exact := big.NewRat(1, 1)
	for i, arrival := range []rune(strings.ToUpper(sequence)) {
		before := 0
		switch arrival {
		case 'L':
			before = process.Losses
			process = process.Loss()
		case 'G':
			before = process.Gains
			process = process.Gain()
		default:
			return nil, usageError("step %d: %q is neither L (a loss) nor G (a gain)", i+1, arrival)
		}
		exact.Mul(exact, big.NewRat(int64(2*before+1), int64(i+1)))
		var f figures
		f.add("step", i+1)
		f.add("arrival", string(arrival))
		f.add("losses", process.Losses)
		f.add("gains", process.Gains)
		f.add("e_num", exact.Num().String())
		f.add("e_den", exact.Denom().String())
		f.exp("e_two_sided", process.LogTwo)
		f.add("log_e_two_sided", process.LogTwo)
		f.exp("e_worse_one_sided", process.LogWorse)
		f.add("log_e_worse_one_sided", process.LogWorse)
		f.exp("running_max_two", process.MaxLogTwo)
		f.add("anytime_p_two", process.PTwo())
		f.exp("running_max_worse", process.MaxLogWorse)
		f.add("anytime_p_worse", process.PWorse())
		steps = append(steps, f)
	}
	return steps, nil
}

func statsPower() *cli.Command {
	return &cli.Command{
		Name:  "power",
		Usage: "the power of the tests by exact enumeration, and the pairs for a wanted one",
		Description: `   doubletake stats power --pairs 200 --loss 0.05 --gain 0.01
   doubletake stats power --pairs 40 --loss 0.2 --gain 0.05 --alpha 0.025 --json`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "pairs", Usage: "the number `N` of pairs", EnvVars: twin("pairs")},
			&cli.Float64Flag{Name: "loss", Usage: "probability of a loss, a `SHARE`", EnvVars: twin("loss")},
			&cli.Float64Flag{Name: "gain", Usage: "probability of a gain, a `SHARE`", EnvVars: twin("gain")},
			alphaFlag(),
			&cli.Float64Flag{Name: "power", Usage: "the wanted power of n_exact and the formulas, a `SHARE`", Value: 0.8, EnvVars: twin("power")},
			&cli.IntFlag{Name: "sided", Usage: "1 or 2 sides for n_exact and the formulas, an `N`", Value: 1, EnvVars: twin("sided")},
			jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if c.NArg() != 0 || !c.IsSet("pairs") || !c.IsSet("loss") || !c.IsSet("gain") {
				return usageError("stats power wants --pairs, --loss and --gain, and no arguments (doubletake stats power --help)")
			}
			found, err := powerFigures(c.Int("pairs"), c.Float64("loss"), c.Float64("gain"), c.Float64("alpha"), c.Float64("power"), stats.Sides(c.Int("sided")))
			if err != nil {
				return err
			}
			return found.print(c)
		},
	}
}

func powerFigures(pairs int, loss, gain, alpha, wanted float64, sides stats.Sides) (figures, error) {
	power, err := stats.Power(pairs, loss, gain, alpha)
	if err != nil {
		return nil, err
	}
	var f figures
	f.add("N", pairs)
	f.add("p_loss", loss)
	f.add("p_gain", gain)
	f.add("alpha", alpha)
	f.add("pow_exact_worse", power.Worse)
	f.add("pow_exact_two", power.Two)
	f.add("pow_midp_worse", power.MidWorse)
	f.add("pow_midp_two", power.MidTwo)
	for _, margin := range []float64{0.02, 0.05, 0.10} {
		ni, err := stats.NonInferiorityPower(pairs, loss, gain, margin, alpha)
		if err != nil {
			return nil, err
		}
		suffix := fmt.Sprintf("_m%02.0f", 100*margin)
		f.add("ni_pow"+suffix, ni.Score)
		f.add("ni_pow_strict"+suffix, ni.Strict)
	}
	f.add("sided", int(sides))
	f.add("power", wanted)
	if loss <= gain {
		for _, name := range []string{"n_connor", "n_miettinen", "n_exact"} {
			f.optional(name, nil, analysis.ReasonNotWorse)
		}
		var theta *float64
		if loss+gain > 0 {
			theta = new(float64)
			*theta = loss / (loss + gain)
		}
		f.optional("n_discordants_needed_theta", theta, stats.ReasonNoDiscordant)
		return f, nil
	}
	connor, err := stats.ConnorPairs(loss, gain, alpha, wanted, sides)
	if err != nil {
		return nil, err
	}
	miettinen, err := stats.MiettinenPairs(loss, gain, alpha, wanted, sides)
	if err != nil {
		return nil, err
	}
	exact, err := stats.PairsNeeded(loss, gain, alpha, wanted, sides)
	if err != nil {
		return nil, err
	}
	f.add("n_connor", connor)
	f.add("n_miettinen", miettinen)
	if exact.Pairs == nil {
		f.optional("n_exact", nil, exact.Reason)
	} else {
		f.add("n_exact", *exact.Pairs)
	}
	f.add("n_discordants_needed_theta", loss/(loss+gain))
	return f, nil
}

func statsAdjust() *cli.Command {
	return &cli.Command{
		Name:      "adjust",
		Usage:     "p values corrected for their number",
		ArgsUsage: "P...",
		Description: `Gates of which any one blocks take holm; exploratory slices take bh. NA is a test that
could not be done, and does not count.

   doubletake stats adjust 0.01 0.04 0.03 0.005`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return usageError("stats adjust wants p values (doubletake stats adjust --help)")
			}
			rows, err := adjustedFigures(c.Args().Slice())
			if err != nil {
				return err
			}
			return printFigureTable(c, "tests", rows, "index", "p", "holm", "bh", "by", "bonferroni")
		},
	}
}

func adjustedFigures(args []string) ([]figures, error) {
	const missing = "no_p_value"
	p := make([]*float64, len(args))
	rows := make([]figures, len(args))
	for i, arg := range args {
		if arg != "NA" {
			x, err := strconv.ParseFloat(arg, 64)
			if err != nil {
				return nil, usageError("%q is no p value", arg)
			}
			p[i] = &x
		}
		rows[i].add("index", i)
		rows[i].optional("p", p[i], missing)
	}
	for _, method := range []struct {
		name   string
		adjust func([]*float64) (stats.Adjusted, error)
	}{
		{"holm", stats.Holm}, {"bh", stats.BenjaminiHochberg},
		{"by", stats.BenjaminiYekutieli}, {"bonferroni", stats.Bonferroni},
	} {
		adjusted, err := method.adjust(p)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			rows[i].optional(method.name, adjusted.P[i], missing)
		}
	}
	return rows, nil
}

// countArguments reads the arguments, one for each name.
func countArguments(c *cli.Context, names ...string) ([]int, error) {
	if c.NArg() != len(names) {
		return nil, usageError("%s wants %s, have %d arguments (doubletake stats %[1]s --help)", c.Command.Name, strings.Join(names, " "), c.NArg())
	}
	var list []int
	for i, arg := range c.Args().Slice() {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 0 {
			return nil, usageError("%s: %q is no count", names[i], arg)
		}
		list = append(list, n)
	}
	return list, nil
}
