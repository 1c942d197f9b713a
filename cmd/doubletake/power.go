package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/plot"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

func powerCommand() *cli.Command {
	return &cli.Command{
		Name:  "power",
		Usage: "say what a set of this size can and can't see",
		Description: `Exact enumeration, for the gate's test and the non-inferiority test. It is about the plan:
never feed it with the rates of a run. Without --fixtures it is about the set: that of
--set, else of the config, else the one that ships with the program.

   doubletake power
   doubletake power --fixtures 200 --loss 0.05 --gain 0.01 --plot power.svg
   doubletake power --fixtures 200 --groups 40`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "fixtures", Usage: "answer for `N` fixtures, whatever the set", DefaultText: "those of the set", EnvVars: twin("fixtures")},
			&cli.IntFlag{Name: "groups", Usage: "that come from `K` sessions", DefaultText: "those of the set, or one a fixture", EnvVars: twin("groups")},
			&cli.Float64Flag{Name: "loss", Usage: "probability that a pair is a loss, a `SHARE`", Value: 0.10, EnvVars: twin("loss")},
			&cli.Float64Flag{Name: "gain", Usage: "probability that a pair is a gain, a `SHARE`", Value: 0.02, EnvVars: twin("gain")},
			&cli.Float64Flag{Name: "margin", Usage: "the largest tolerable difference, a `SHARE`", Value: 0.05, EnvVars: twin("margin")},
			alphaFlag(),
			&cli.Float64Flag{Name: "power", Usage: "the wanted probability of finding what is there, a `SHARE`", Value: 0.8, EnvVars: twin("power")},
			configFlag(), setFlag(),
			stringFlag("plot", "also draw power over loss rate into `FILE`, by its extension .svg or .png"),
			stringFlag("theme", "draw the plot for a `BACKGROUND` that is light or dark; default: light"),
			jsonFlag(),
		},
		Action: runPower,
	}
}

// plan is what the command is asked about.
type plan struct {
	analysis.SensitivitySettings
	about    string
	accepted int // fixtures with an accepted trace
}

func runPower(c *cli.Context) error {
	if c.NArg() != 0 {
		return usageError("power takes no arguments, have %q (doubletake power --help)", c.Args().First())
	}
	path := c.String("plot")
	format := plot.Format(strings.TrimPrefix(filepath.Ext(path), "."))
	if path != "" && format != plot.SVG && format != plot.PNG {
		return usageError("cannot tell the format of %s: want the extension .svg or .png", path)
	}
	theme := plot.Theme(c.String("theme"))
	if theme == "" {
		theme = plot.Light
	}
	if !slices.Contains(plot.Themes(), theme) {
		return usageError("--theme %w", noneOf(string(theme), texts(plot.Themes())...))
	}
	asked, err := findPlan(c)
	if err != nil {
		return err
	}
	found, err := analysis.FindSensitivity(asked.SensitivitySettings)
	if err != nil {
		return err
	}
	if path != "" {
		data := plot.PowerData{Pairs: found.Pairs, GainRates: found.GainRates(), Alpha: found.Alpha, Target: found.Power}
		if found.DesignEffectUnknown {
			data.Note = fmt.Sprintf("%s in %s, counted as one pair a group", report.Plural(found.Fixtures, "fixture"), report.Plural(found.Groups, "session group"))
		}
		figure, err := plot.Power(data)
		if err != nil {
			return err
		}
		if err := writeNamed(path, func(out io.Writer) error { return figure.Write(out, format, theme) }); err != nil {
			return fmt.Errorf("writing the plot: %w", err)
		}
	}
	if c.Bool("json") {
		return writeFigures(c.App.Writer, found)
	}
	return printPower(c.App.Writer, asked, found)
}

func findPlan(c *cli.Context) (*plan, error) {
	p := &plan{SensitivitySettings: analysis.SensitivitySettings{
		LossRate: c.Float64("loss"), GainRate: c.Float64("gain"), Margin: c.Float64("margin"),
		Alpha: c.Float64("alpha"), Power: c.Float64("power"),
	}}
	if c.IsSet("groups") && c.Int("groups") < 1 {
		return nil, usageError("--groups %d: want at least 1", c.Int("groups"))
	}
	if c.IsSet("fixtures") {
		p.Fixtures, p.Groups, p.about = c.Int("fixtures"), c.Int("groups"), "--fixtures"
		return p, nil
	}
	set, err := setOf(c)
	if err != nil {
		return nil, err
	}
	groups := map[string]bool{}
	for _, f := range set.Fixtures {
		groups[f.SessionGroup()] = true
		if f.AcceptedTrace != nil {
			p.accepted++
		}
	}
	p.Fixtures, p.Groups, p.about = len(set.Fixtures), len(groups), fmt.Sprintf("%s %s", set.Name, set.Version)
	if c.IsSet("groups") {
		p.Groups = c.Int("groups")
	}
	return p, nil
}

func printPower(out io.Writer, asked *plan, f *analysis.Sensitivity) error {
	fmt.Fprintf(out, "%s: %s in %s, level %v one-sided\n", report.Clean(asked.about), report.Plural(f.Fixtures, "fixture"), report.Plural(f.Groups, "session group"), f.Alpha)
	if f.DesignEffectUnknown {
		fmt.Fprintf(out, `Fixtures of one session repeat each other, and by how much (the design effect) is unknown
before a run. What follows is conservative, with one pair a group: %s.
`, report.Plural(f.Pairs, "pair"))
	}
	if asked.accepted > 0 {
		fmt.Fprintf(out, `%d of the fixtures have an accepted trace. Where that stands in for a replayed reference the
pair is no pair of the test, which then has fewer pairs and sees less.
`, asked.accepted)
	}

	fmt.Fprintf(out, "\nSmallest loss rate found with probability %v\n", f.Power)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "gain rate\tloss rate\tdifference\t")
	for _, d := range f.Detectable {
		if d.LossRate == nil {
			fmt.Fprintf(table, "%s\tnone\tno loss rate is found so surely\t\n", percent(d.GainRate))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t\n", percent(d.GainRate), percent(*d.LossRate), percent(*d.Difference))
	}
	if err := table.Flush(); err != nil {
		return err
	}

	fmt.Fprintf(out, "\nIf losses are %s and gains %s of the pairs\n", percent(f.LossRate), percent(f.GainRate))
	fmt.Fprintf(out, "  the exact test finds it with probability %.3f (mid-p %.3f; two-sided %.3f, mid-p %.3f)\n", f.Tests.Worse, f.Tests.MidWorse, f.Tests.Two, f.Tests.MidTwo)
	switch {
	case f.PairsNeeded.Pairs != nil:
		fmt.Fprintf(out, "  %s find it with probability %v\n", report.Plural(*f.PairsNeeded.Pairs, "pair"), f.Power)
	case f.PairsNeeded.Reason == analysis.ReasonNotWorse:
		fmt.Fprintf(out, "  there is nothing to find: losses are not more frequent than gains\n")
	default:
		fmt.Fprintf(out, "  no number of pairs up to 100000 finds it with probability %v\n", f.Power)
	}

	fmt.Fprintf(out, "\nNot worse by %s or more\n", percent(f.Margin))
	if f.LargestPassingLosses != nil {
		fmt.Fprintf(out, "  a perfect run passes, and without gains so does one with at most %s\n", report.Plural(*f.LargestPassingLosses, "loss"))
	} else {
		fmt.Fprintf(out, "  not even a perfect run of %s passes\n", report.Plural(f.Pairs, "pair"))
	}
	fmt.Fprintf(out, "  a perfect run passes from %s on (Tango's test alone: %d)\n", report.Plural(f.PairsForMargin.Strict, "pair"), f.PairsForMargin.Score)
	fmt.Fprintf(out, "  an equally good candidate, %s losses and gains, passes with probability %.3f\n", percent(f.GainRate), f.EqualPasses.Strict)
	fmt.Fprintf(out, "  a run without a loss shows that fewer than %s of such conversations are lost\n", percent(f.CleanRunProves))
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.3g%%", 100*share) }
