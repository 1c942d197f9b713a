package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

func gateCommand() *cli.Command {
	return &cli.Command{
		Name:      "gate",
		Usage:     "say PASS, BACKLOG or REGRESSED for every row of a run; the exit code is the contract",
		ArgsUsage: "RUN",
		Description: `A line a row, then gate: PASS or gate: FAIL. BACKLOG is below the floor and not worsened,
and does not block. A baseline arms further rows only where its lineage is the same: set,
models, judge prompt, parameters. A floors file (YAML or JSON) holds floors by name:
constraint, commitment, open_question, reference, contradictions, prompt_size, and the
metrics of report.json. A floor on what the run did not measure is UNSCORED: it blocks
nothing, is named on stderr, and is gate: INCONCLUSIVE, exit code 4, under --strict, as is a
run whose verdict is inconclusive. In GitHub Actions the lines are added to the job's
summary, and what blocks is annotated; the report itself is for nightly and report.

   doubletake gate night
   doubletake gate night --baseline last-night --floors floors.yaml`,
		Flags: []cli.Flag{
			stringFlag("baseline", "hold the run against an earlier `RUN`"),
			stringFlag("floors", "read floors from `FILE`"),
			&cli.BoolFlag{Name: "reviewed", Usage: "let the rows after review decide, undecided pairs at their worst; both are printed", EnvVars: twin("reviewed")},
			&cli.BoolFlag{Name: "deterministic-only", Usage: "look at no judge: verbatim survival and the coverage of words alone", EnvVars: twin("deterministic-only")},
			&cli.BoolFlag{Name: "strict", Usage: "exit with 4 where the result is inconclusive, or a floor has nothing to hold it against", EnvVars: twin("strict")},
			setFolderFlag(),
			jsonFlag(),
		},
		Action: runGate,
	}
}

func runGate(c *cli.Context) error {
	if c.NArg() != 1 {
		return usageError("gate wants one run directory, have %d (doubletake gate --help)", c.NArg())
	}
	options := analysis.Options{Deterministic: c.Bool("deterministic-only")}
	if path := c.String("floors"); path != "" {
		data, err := readSmall(path)
		if err != nil {
			return fmt.Errorf("reading the floors: %w", err)
		}
		data = plainLines(data)
		if err := yaml.UnmarshalWithOptions(data, &options.Gates, yaml.Strict()); err != nil {
			hint := ""
			if tokenOf(string(data), []string{"gates"}, true) != nil {
				hint = "\na file of floors has their names at its top, such as constraint: 0.95, and no gates: above them"
			}
			return fmt.Errorf("floors %s: %s%s", path, explainYAML(err), hint)
		}
		for _, name := range slices.Sorted(maps.Keys(options.Gates)) {
			if err := validateGate(name, options.Gates[name]); err != nil {
				where := about
				if !slices.Contains(analysis.GateNames(), name) {
					where = aboutName
				}
				return fmt.Errorf("floors %s: %w", path, placed(string(data), where(err, name)))
			}
		}
	}
	found, err := loadNight(c.Args().First(), options)
	if err != nil {
		return err
	}
	warnTorn(c, c.Args().First())
	gates := found.Report.Gates
	var against *analysis.Baseline
	if dir := c.String("baseline"); dir != "" {
		earlier, err := loadNight(dir, options)
		if err != nil {
			return fmt.Errorf("the baseline: %w", err)
		}
		b := found.Against(earlier)
		against = &b
		gates = append(gates, b.Gates...)
	}
	reviewed := found.Report.Reviewed
	if c.Bool("reviewed") && reviewed == nil {
		return usageError("--reviewed: nobody has decided on a pair of %s (doubletake review decide --help)", c.Args().First())
	}
	strict := c.Bool("strict")
	result, code := gateResult(found.Report, gates, strict)
	after, decides := "", result
	if reviewed != nil {
		var afterCode int
		after, afterCode = reviewedResult(found.Report, gates, strict)
		if c.Bool("reviewed") {
			// The rows that decide are those that are shown.
			code, decides = afterCode, after
			gates = append(slices.Clone(reviewed.AtWorst.Gates), gates[len(found.Report.Gates):]...)
		}
	}
	sayUnannotated(c, found.Report.Set.Items)
	sayUnmeasured(c, found.Report.Unmeasured(gates))
	text := func(style report.Style) string {
		out := new(strings.Builder)
		printGates(out, gates, against, result, style)
		if reviewed != nil {
			fmt.Fprintln(out, "review:")
			for _, line := range report.ReviewLines(found.Report) {
				fmt.Fprintf(out, "  %s\n", report.Clean(line))
			}
			fmt.Fprintf(out, "gate after review (%d of %d decided, the rest at their worst): %s\n", reviewed.Decided, reviewed.Queue, style.Status(after))
		}
		return report.Fold(out.String(), style.Width)
	}
	addGateSummary(c, decides, text(report.Style{}))
	if c.Bool("json") {
		err := writeIndented(c.App.Writer, struct {
			Gate     string             `json:"gate"`
			Reviewed string             `json:"gate_reviewed,omitempty"`
			Gates    []analysis.Gate    `json:"gates"`
			Baseline *analysis.Baseline `json:"baseline"`
			Review   *analysis.Reviewed `json:"review,omitempty"`
		}{result, after, gates, against, reviewed})
		if err != nil {
			return err
		}
	} else {
		err := printOnCI(c, found, func(printed io.Writer) error {
			_, err := io.WriteString(printed, text(terminalStyle(c)))
			return err
		})
		if err != nil {
			return err
		}
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// gateResult is FAIL where a row regressed, INCOMPLETE where too much is unscored or the
// run is not finished, INVALID where the reference disagrees too much with itself. Strictly
// it is INCONCLUSIVE where the verdict is, or where a floor has nothing to hold it against.
func gateResult(r *analysis.Report, gates []analysis.Gate, strict bool) (string, int) {
	if r.Verdict == analysis.InvalidNoise {
		return "INVALID", exitIncomplete
	}
	if r.Unfinished != nil {
		return "INCOMPLETE", exitIncomplete
	}
	for _, g := range gates {
		if g.Status == analysis.GateRegressed && (r.Verdict != analysis.Incomplete || r.Judge.Trusted) {
			return "FAIL", exitBlocked
		}
	}
	if r.Verdict == analysis.Incomplete {
		return "INCOMPLETE", exitIncomplete
	}
	if strict && (r.Verdict == analysis.Inconclusive || len(r.Unmeasured(gates)) > 0) {
		return "INCONCLUSIVE", exitInconclusive
	}
	return "PASS", exitOK
}

// sayUnmeasured names the floors that hold nothing.
func sayUnmeasured(c *cli.Context, rows []analysis.Gate) {
	for _, g := range rows {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "warning: the floor of %s holds nothing: %s; --strict ends with %d\n", g.Name, g.Reason, exitInconclusive)
	}
}

// What is said where there is no item.
const (
	unannotated     = "nothing is annotated: the fixtures have 0 items, so that no floor of a class holds anything"
	unannotatedNext = "doubletake fixtures propose RECORDING finds what binds later turns, doubletake fixtures annotate RECORDING confirms it"
)

// sayUnannotated warns of fixtures that have no item among them.
func sayUnannotated(c *cli.Context, items int) {
	if items == 0 {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "warning: %s; %s\n", unannotated, unannotatedNext)
	}
}

// reviewedResult is gateResult after review, undecided pairs at their worst: rows of the
// baseline stay as they are, since a baseline is about items.
func reviewedResult(r *analysis.Report, gates []analysis.Gate, strict bool) (string, int) {
	after := *r
	after.Verdict = r.Reviewed.AtWorst.Verdict
	return gateResult(&after, append(slices.Clone(r.Reviewed.AtWorst.Gates), gates[len(r.Gates):]...), strict)
}

func printGates(out io.Writer, gates []analysis.Gate, against *analysis.Baseline, result string, style report.Style) {
	for _, g := range gates {
		fmt.Fprintln(out, report.GateLine(g, style))
		if g.Status == analysis.GateRegressed {
			for _, item := range g.NewlyLost {
				fmt.Fprintf(out, "             %s\n", report.Clean(item))
			}
		}
	}
	if against != nil && len(against.Differences) > 0 {
		fmt.Fprintf(out, "the baseline %s is of another lineage and gates nothing:\n", against.Run)
		for _, d := range against.Differences {
			fmt.Fprintf(out, "  %s\n", report.Clean(d))
		}
	}
	fmt.Fprintf(out, "gate: %s\n", style.Status(result))
}
