package history

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/plot"
	"github.com/doubletake-dev/doubletake/analysis/report"
)

//go:embed html
var htmlFiles embed.FS

// drawnLineages is how many lineages of a page have plots, the latest ones.
const drawnLineages = 10

// HTML writes a history as one page that needs no other file, no network and no scripts,
// for a light and a dark background. The latest ten lineages that have more than one night
// have plots. The same history gives the same bytes. Texts are escaped and cleaned, and the
// page's own policy lets nothing run.
func HTML(out io.Writer, h *History) error {
	style, err := htmlFiles.ReadFile("html/history.css")
	if err != nil {
		return fmt.Errorf("writing the page of a history: %w", err)
	}
	pattern, err := template.ParseFS(htmlFiles, "html/history.tmpl")
	if err != nil {
		return fmt.Errorf("writing the page of a history: %w", err)
	}
	sum := sha256.Sum256(style)
	view := pageView{
		Title: "Nights in " + report.Clean(h.Dir), Style: template.HTML("<style>" + string(style) + "</style>"),
		Policy: fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:])),
	}
	total := 0
	for i := range h.Lineages {
		l := &h.Lineages[i]
		total += len(l.Nights)
		v, err := newLineageView(i, l, i >= len(h.Lineages)-drawnLineages)
		if err != nil {
			return err
		}
		view.Lineages = append(view.Lineages, v)
	}
	view.Lead = fmt.Sprintf("%s in %s", nights(total), lineages(len(h.Lineages)))
	for _, s := range h.Skipped {
		view.Skipped = append(view.Skipped, report.Clean(s.Dir+": "+s.Reason))
	}
	var page bytes.Buffer
	if err := pattern.Execute(&page, view); err != nil {
		return fmt.Errorf("writing the page of a history: %w", err)
	}
	if _, err := page.WriteTo(out); err != nil {
		return fmt.Errorf("writing the page of a history: %w", err)
	}
	return nil
}

type pageView struct {
	Title, Lead, Policy string
	Style               template.HTML
	Lineages            []lineageView
	Skipped             []string
}

type lineageView struct {
	ID, Name, Facts string
	Differences     []string
	Tables          []tableView
	Figures         []figureView
}

type tableView struct {
	Caption string
	Head    []string
	Rows    [][]cellView
}

type cellView struct{ Text, Class string }

type figureView struct {
	Title, Words string
	Light        template.URL
	Dark         template.Srcset
}

func newLineageView(i int, l *Lineage, drawn bool) (lineageView, error) {
	p := &l.Nights[0].plan.Lineage
	v := lineageView{
		ID: "lineage-" + strconv.Itoa(i+1), Name: fmt.Sprintf("Lineage %d: %s", i+1, nights(len(l.Nights))),
		Facts: report.Clean(fmt.Sprintf("%s of set %s %s, agent %s, judge %s", l.Nights[0].Command, p.SetName, p.SetVersion, p.AgentModel, p.JudgeModel)),
	}
	for _, d := range l.Differences {
		v.Differences = append(v.Differences, report.Clean(d))
	}
	v.Tables = []tableView{nightsTable(l), gatesTable(l)}
	if !drawn || len(l.Nights) < 2 {
		return v, nil
	}
	figures, err := l.figures()
	if err != nil {
		return v, err
	}
	for _, f := range figures {
		var light, dark bytes.Buffer
		if err := errors.Join(f.Write(&light, plot.SVG, plot.Light), f.Write(&dark, plot.SVG, plot.Dark)); err != nil {
			return v, err
		}
		v.Figures = append(v.Figures, figureView{Title: f.Title(), Words: f.Description(), Light: template.URL(address(light.Bytes())), Dark: template.Srcset(address(dark.Bytes()))})
	}
	return v, nil
}

// address makes an SVG the address of an image. Inside an image nothing of it can run.
func address(svg []byte) string {
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)
}

func nightsTable(l *Lineage) tableView {
	t := tableView{
		Caption: "A row a night",
		Head:    []string{"night (UTC)", "verdict", "candidate", "losses", "gains", "noise floor", "contradicted", "cost", "requests", "cached", "quarantined", "new disagreements", "vanished", "at the first outcome", "no outcome any more", "changed since the night before", "run"},
	}
	for _, n := range l.Nights {
		tone := "good"
		switch n.Verdict {
		case analysis.Regressed, analysis.Incomplete, analysis.InvalidNoise:
			tone = "bad"
		}
		t.Rows = append(t.Rows, []cellView{
			{Text: n.Started.UTC().Format("2006-01-02 15:04")}, {strings.ToUpper(string(n.Verdict)), tone}, {Text: report.Clean(n.Candidate)},
			{Text: strconv.Itoa(n.Losses)}, {Text: strconv.Itoa(n.Gains)}, {Text: orDash(n.NoiseFloor, percent)}, {Text: strconv.Itoa(n.Contradictions)},
			{Text: orDash(n.CostUSD, dollars)}, {Text: strconv.Itoa(n.Requests)}, {Text: strconv.Itoa(n.Cached)},
			long(report.Clean(strings.Join(n.Quarantined, "; "))), long(named(n.New)), long(named(n.Vanished)), long(named(n.First)), long(named(n.Unknown)),
			long(report.Clean(strings.Join(n.Changed, "; "))), {Text: report.Clean(n.Dir)},
		})
	}
	return t
}

// long is a cell whose text may break, once it is long.
func long(text string) cellView {
	const whole = 24 // characters
	if len(text) <= whole {
		return cellView{Text: text}
	}
	return cellView{text, "long"}
}

func gatesTable(l *Lineage) tableView {
	names := l.GateNames()
	t := tableView{Caption: "The gates, with their values", Head: []string{"night (UTC)"}}
	for _, name := range names {
		t.Head = append(t.Head, report.Clean(name))
	}
	for _, n := range l.Nights {
		row := []cellView{{Text: n.Started.UTC().Format("2006-01-02 15:04")}}
		for _, name := range names {
			g := n.Gate(name)
			if g == nil {
				row = append(row, cellView{Text: "-"})
				continue
			}
			cell := cellView{Text: orDash(g.Value, plain) + " " + string(g.Status)}
			if g.Status == analysis.GateRegressed {
				cell.Class = "bad"
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// named lists disagreements, a dash where nothing is known of them.
func named(list []Disagreement) string {
	if list == nil {
		return "-"
	}
	names := make([]string, len(list))
	for i, d := range list {
		names[i] = fmt.Sprintf("%s (%s)", report.Clean(d.Pair), d.Cell)
	}
	return strings.Join(names, ", ")
}

func lineages(n int) string {
	if n == 1 {
		return "1 lineage"
	}
	return fmt.Sprintf("%d lineages", n)
}

// figures draws the lineage: losses and gains together, and what else is known of any
// night by itself.
func (l *Lineage) figures() ([]*plot.Figure, error) {
	var dates []string
	for _, n := range l.Nights {
		dates = append(dates, n.Started.UTC().Format("2006-01-02"))
	}
	all := l.series()
	pairs := plot.SeriesData{Title: "Losses and gains", Unit: "Pairs that disagree", Nights: dates, Lines: []plot.SeriesLine{{Name: all[0].name, Values: all[0].values}, {Name: all[1].name, Values: all[1].values}}}
	data := []plot.SeriesData{pairs}
	last := l.Nights[len(l.Nights)-1]
	for _, s := range all[2:] {
		if _, _, known := span(s.values); !known {
			continue
		}
		d := plot.SeriesData{Title: strings.ToUpper(s.name[:1]) + s.name[1:], Unit: "Value a night", Nights: dates, Lines: []plot.SeriesLine{{Name: "value", Values: s.values}}}
		if g := last.Gate(s.name); s.gate {
			d.Title = "Gate " + report.Clean(s.name)
			if g != nil {
				d.Floor, d.Ceiling = g.Floor, g.Ceiling
			}
		}
		data = append(data, d)
	}
	var list []*plot.Figure
	for _, d := range data {
		f, err := plot.Series(d)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}
