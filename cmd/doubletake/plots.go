package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/plot"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

// writePlots draws a run into a folder: each figure as SVG and PNG, for a light and a
// dark background. It returns the files written.
func writePlots(dir string, r *analysis.Report) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for plots: %w", err)
	}
	figures, err := figuresOf(r)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, figure := range figures {
		for _, theme := range plot.Themes() {
			for _, format := range []plot.Format{plot.SVG, plot.PNG} {
				path := filepath.Join(dir, fmt.Sprintf("%s-%s.%s", figure.name, theme, format))
				err := writeNamed(path, func(out io.Writer) error { return figure.Write(out, format, theme) })
				if err != nil {
					return files, fmt.Errorf("drawing %s: %w", figure.name, err)
				}
				files = append(files, path)
			}
		}
	}
	return files, nil
}

// namedFigure is a plot with the name of its files.
type namedFigure struct {
	name string
	*plot.Figure
}

// figuresOf draws the plots of a run.
func figuresOf(r *analysis.Report) ([]namedFigure, error) {
	power := plot.PowerData{Pairs: r.Test.Pairs, GainRates: []float64{0, 0.02, 0.05}, Alpha: r.Test.Level, Target: r.Settings.Power}
	if r.Test.Clustered {
		power.Pairs = r.Test.Groups
		power.Note = fmt.Sprintf("%s in %s, counted as one pair a group", report.Plural(r.Test.Pairs, "pair"), report.Plural(r.Test.Groups, "session group"))
	}
	var list []namedFigure
	for _, figure := range []struct {
		name string
		draw func() (*plot.Figure, error)
	}{
		{"effect", func() (*plot.Figure, error) { return plot.Effect(effectOf(r)) }},
		{"evidence", func() (*plot.Figure, error) { return plot.Evidence(evidenceOf(r)) }},
		{"retention", func() (*plot.Figure, error) { return plot.Retention(retentionOf(r)) }},
		{"power", func() (*plot.Figure, error) { return plot.Power(power) }},
	} {
		f, err := figure.draw()
		if err != nil {
			return nil, fmt.Errorf("drawing %s: %w", figure.name, err)
		}
		list = append(list, namedFigure{figure.name, f})
	}
	return list, nil
}

// effectOf are the differences of all comparisons of a run.
func effectOf(r *analysis.Report) plot.EffectData {
	data := plot.EffectData{Margin: r.Settings.Margin, Confidence: r.Settings.Confidence}
	add := func(name string, t *analysis.Test) {
		reason := t.Reason
		if t.Pairs == 0 {
			reason = "no replayed pair has an outcome"
		}
		data.Rows = append(data.Rows, plot.Difference{
			Name: name, Value: t.Difference, Low: t.Low, High: t.High, Reason: reason, Pairs: t.Pairs, Losses: t.Losses, Gains: t.Gains,
		})
	}
	add(r.Candidate+" against "+r.Baseline, &r.Test)
	if i := r.Incumbent; i != nil {
		add(r.Candidate+" against "+i.Name, &i.Candidate.Test)
		add(i.Name+" against reference", &i.Reference.Test)
	}
	for _, arm := range r.Arms {
		if c, ok := r.AgainstReference[arm.Name]; ok {
			add(arm.Name+" against reference", &c.Test)
		}
	}
	return data
}

// evidenceOf is the evidence session by session.
func evidenceOf(r *analysis.Report) plot.EvidenceData {
	data := plot.EvidenceData{Alpha: r.Test.Level}
	for _, e := range r.Test.Sequential.Trail {
		data.Groups = append(data.Groups, e.Cluster)
	}
	return data
}

// retentionOf is what was kept by age and by compaction, an arm a line.
func retentionOf(r *analysis.Report) plot.RetentionData {
	kept := func(list []analysis.Kept) []plot.Kept {
		var out []plot.Kept
		for _, k := range list {
			out = append(out, plot.Kept{Name: k.Name, Kept: k.Kept, Scored: k.Scored})
		}
		return out
	}
	var data plot.RetentionData
	for _, arm := range r.Arms {
		if k, ok := r.Retention[arm.Name]; ok {
			data.Arms = append(data.Arms, plot.ArmRetention{Arm: arm.Name, ByAge: kept(k.ByAge), ByGeneration: kept(k.ByGeneration)})
		}
	}
	return data
}
