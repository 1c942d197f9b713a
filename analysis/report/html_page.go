package report

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
)

// How much a page shows.
const (
	mostPairs    = 200       // disagreements
	pairsBytes   = 3_600_000 // of all pairs together
	pairBytes    = 300_000   // of one pair
	mostLines    = 40        // of a list
	lineWidth    = 900       // characters of a line
	mostTableRow = 400
)

// pageView is what the template of the page reads.
type pageView struct {
	Title, Policy string
	Style, Script template.HTML
	Verdict       string
	Tone          tone
	Lead          string
	Why           []string
	Facts         []string
	Disagree      disagreeView
	// Before and After are the sections around the disagreements.
	Before, After []sectionView
}

// tone colours what a word says already.
type tone string

const (
	good  tone = "good"
	bad   tone = "bad"
	quiet tone = "quiet"
)

// sectionView is a heading with what stands under it.
type sectionView struct {
	ID, Title string
	Parts     []partView
}

// partView is one of its fields.
type partView struct {
	Heading string
	Lines   []string
	Table   *tableView
	Figure  *Figure
}

// tableView is a table whose first cells name the rows.
type tableView struct {
	Caption string
	Head    []string
	Rows    [][]cellView
	// Cut says how many rows are left out.
	Cut int
}

type cellView struct {
	Text string
	Tone tone
	// Number keeps on one line, Long gets room to be read in.
	Number, Long bool
}

// disagreeView is the section of the disagreements.
type disagreeView struct {
	Title string
	Pairs []pairView
	Cut   int
}

func newPageView(page *Page) *pageView {
	r := page.Report
	v := &pageView{
		Title:   fmt.Sprintf("doubletake %s: %s", r.Command, r.Verdict),
		Verdict: strings.ReplaceAll(string(r.Verdict), "_", " "), Tone: verdictTone(r.Verdict),
		Lead: fmt.Sprintf("%s against %s", Clean(r.Candidate), Clean(r.Baseline)),
		Why:  some(r.Why),
		Facts: []string{
			"run " + Clean(r.Run),
			fmt.Sprintf("set %s %s: %s, %s, %s", Clean(r.Set.Name), Clean(r.Set.Version), Plural(r.Set.Fixtures, "fixture"), Plural(r.Set.Items, "item"), Plural(r.Set.Decisions, "compaction decision")),
			Clean(modeLine(r)),
			"made by " + Clean(r.Lineage.Program),
		},
		Disagree: newDisagreeView(page),
	}
	v.Before = sections(linesSection("review", "Review", ReviewLines(r)))
	v.After = sections(
		unpairedSection(r), gatesSection(r), itemsSection(r), testSection(r, &page.Figures),
		figureSection("evidence", "Evidence session by session", page.Figures.Evidence),
		retentionSection(r, page.Figures.Retention),
		linesSection("noise", "Noise floor", controlLines(r)),
		slicesSection(r), compactionsSection(r), judgeSection(r), metricsSection(r), rubricSection(r),
		linesSection("cost", "Cost", costLines(r)),
		lineageSection(r),
		linesSection("notes", "Notes", r.Notes),
		linesSection("success", "Task success (no gate: it cannot see what this report is about)", rateLines(r)),
	)
	return v
}

func verdictTone(v analysis.Verdict) tone {
	switch v {
	case analysis.Clear:
		return good
	case analysis.Inconclusive:
		return quiet
	}
	return bad
}

// sections leaves out the empty ones.
func sections(list ...sectionView) []sectionView {
	var out []sectionView
	for _, s := range list {
		if len(s.Parts) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// some cleans lines, and cuts what is long and what is many.
func some(lines []string) []string {
	var out []string
	for i, line := range lines {
		if i == mostLines {
			return append(out, fmt.Sprintf("and %d more (report.json has all)", len(lines)-mostLines))
		}
		out = append(out, Shorten(line, lineWidth))
	}
	return out
}

func linesSection(id, title string, lines []string) sectionView {
	s := sectionView{ID: id, Title: title}
	if len(lines) > 0 {
		s.Parts = []partView{{Lines: some(lines)}}
	}
	return s
}

func figureSection(id, title string, f *Figure) sectionView {
	s := sectionView{ID: id, Title: title}
	if f != nil {
		s.Parts = []partView{{Figure: f}}
	}
	return s
}

// newTableView takes a table that begins with a row of heads.
func newTableView(caption string, rows [][]string) *tableView {
	t := &tableView{Caption: caption, Head: rows[0]}
	for i, row := range rows[1:] {
		if i == mostTableRow {
			t.Cut = len(rows) - 1 - mostTableRow
			break
		}
		cells := make([]cellView, len(row))
		for k, text := range row {
			cells[k] = cellView{Text: Shorten(text, lineWidth), Number: isNumber(text), Long: len(text) > 40}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// isNumber says whether a cell holds a number, a share or nothing.
func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789.,/-+%*<>=p ") == ""
}

func unpairedSection(r *analysis.Report) sectionView {
	if len(r.NotPaired) == 0 {
		return sectionView{}
	}
	rows := [][]string{{"conversation", "cell", "reason"}}
	for _, n := range r.NotPaired {
		rows = append(rows, []string{n.ID, strings.ReplaceAll(string(n.Cell), "_", " "), n.Reason})
	}
	return sectionView{"unpaired", "Without an outcome", []partView{{Table: newTableView("Conversations that say nothing about the change, and why", rows)}}}
}

func gatesSection(r *analysis.Report) sectionView {
	rows := gateTable(r)
	rows[0] = append(rows[0], "why")
	for i, g := range r.Gates {
		rows[i+1] = append(rows[i+1], g.Reason)
	}
	for _, row := range rows { // the status beside the name, where a narrow screen shows it
		status := row[4]
		copy(row[2:5], row[1:4])
		row[1] = status
	}
	table := newTableView("Behaviour: p of being worse; a row blocks where the change worsened it", rows)
	for i := range table.Rows {
		status := &table.Rows[i][1]
		switch analysis.GateStatus(status.Text) {
		case analysis.GatePass:
			status.Tone = good
		case analysis.GateRegressed:
			status.Tone = bad
		default:
			status.Tone = quiet
		}
	}
	s := sectionView{"gates", "Gates", []partView{{Table: table}}}
	for _, g := range r.Gates {
		if g.Status == analysis.GateRegressed && len(g.NewlyLost) > 0 {
			s.Parts = append(s.Parts, partView{Heading: "What is new in " + Clean(g.Name), Lines: some(g.NewlyLost)})
		}
	}
	return s
}

func itemsSection(r *analysis.Report) sectionView {
	s := sectionView{"items", "Items", []partView{{Table: newTableView("Items at every compaction, under "+Clean(r.Candidate), itemTable(r))}}}
	if line := movedLine(r); line != "" {
		s.Parts = append(s.Parts, partView{Lines: []string{line}})
	}
	if rows := movesTable(r); rows != nil {
		s.Parts = append(s.Parts, partView{Table: newTableView(Clean(movesTitle(r)), rows)})
	}
	if len(r.Pins) > 0 {
		s.Parts = append(s.Parts, partView{Heading: "Broken pins", Lines: some(r.Pins)})
	}
	if len(r.Voice) > 0 {
		s.Parts = append(s.Parts, partView{Heading: "In another voice", Lines: some(r.Voice)})
	}
	return s
}

func testSection(r *analysis.Report, figures *Figures) sectionView {
	s := sectionView{ID: "test", Title: Clean(testTitle(r))}
	if figures.Effect != nil {
		s.Parts = append(s.Parts, partView{Figure: figures.Effect})
	}
	s.Parts = append(s.Parts, partView{Lines: some(append(testLines(r), otherLines(r)...))})
	if rows := divergenceTable(r); rows != nil {
		s.Parts = append(s.Parts, partView{Table: newTableView(Clean(divergenceTitle(r)), rows)})
	}
	if figures.Power != nil {
		s.Parts = append(s.Parts, partView{Heading: "What this many pairs can see", Figure: figures.Power})
	}
	return s
}

func retentionSection(r *analysis.Report, figure *Figure) sectionView {
	s := figureSection("retention", "Retention by age and by compaction", figure)
	if rows := retentionTable(r); rows != nil {
		s.Parts = append(s.Parts, partView{Table: newTableView("Items in force that were kept, of those scored", rows)})
	}
	return s
}

func slicesSection(r *analysis.Report) sectionView {
	rows := sliceTable(r)
	if len(rows) == 1 {
		return sectionView{}
	}
	rows[0][0], rows[0][5] = "counts", "scored" // a column is named once
	return sectionView{"slices", "Slices", []partView{{Table: newTableView(sliceTitle(r), rows)}}}
}

func compactionsSection(r *analysis.Report) sectionView {
	s := sectionView{ID: "compactions", Title: "Compactions and rules"}
	if rows := compactionTable(r); len(rows) > 1 {
		s.Parts = append(s.Parts, partView{Table: newTableView("What came of the compactions", rows)})
	}
	var findings []string
	for _, arm := range r.Arms {
		for _, finding := range r.Compactions[arm.Name].Findings {
			findings = append(findings, arm.Name+": "+finding)
		}
	}
	if line := promptLine(r); line != "" {
		findings = append(findings, line)
	}
	if len(findings) > 0 {
		s.Parts = append(s.Parts, partView{Lines: some(findings)})
	}
	if rows := ruleTable(r); len(rows[0]) > 1 {
		s.Parts = append(s.Parts, partView{Table: newTableView("Rules that need no judge: held at how many compactions", rows)})
	}
	if lines := ruleLines(r); len(lines) > 0 {
		s.Parts = append(s.Parts, partView{Lines: some(lines)})
	}
	return s
}

func judgeSection(r *analysis.Report) sectionView {
	lines := judgeLines(r)
	if !r.Judge.Trusted {
		lines = append([]string{"NOT TRUSTED: " + r.Judge.Reason}, lines...)
	}
	return linesSection("judge", "Judge: "+Clean(r.Judge.Name), lines)
}

func metricsSection(r *analysis.Report) sectionView {
	lines := []string{metricsLine(r)}
	if line := latencyLine(r); line != "" {
		lines = append(lines, line)
	}
	return linesSection("metrics", "Metrics of "+Clean(r.Candidate), lines)
}

func rubricSection(r *analysis.Report) sectionView {
	if r.Rubric == nil {
		return sectionView{}
	}
	rows := rubricTable(r)
	rows[0][0] = "arm"
	return sectionView{"rubric", "Rubric (advisory, no gate)", []partView{
		{Table: newTableView("What the agent still knows after a compaction", rows)},
		{Lines: some(rubricLines(r))},
	}}
}

// lineageSection is all that the result depends on.
func lineageSection(r *analysis.Report) sectionView {
	l := &r.Lineage
	vocabulary := l.Vocabulary
	if !l.VocabularyOwn {
		vocabulary += ", not the model's own: token counts are near, not exact"
	}
	rows := [][]string{
		{"what", "value"},
		{"program", l.Program},
		{"agent model", l.AgentModel},
		{"agent endpoint", l.Endpoint},
		{"judge model", l.JudgeModel},
		{"judge endpoint", l.JudgeEndpoint},
		{"judge prompt, SHA-256", l.JudgePrompt},
		{"temperature, seed", fmt.Sprintf("%d, %d", l.Temperature, l.Seed)},
		{"mode", r.Mode},
		{"set, version, hash", fmt.Sprintf("%s, %s, %s", l.SetName, l.SetVersion, l.SetHash)},
		{"token vocabulary", vocabulary},
	}
	if l.UserModel != "" {
		rows = append(rows, []string{"user simulated by", l.UserModel}, []string{"user endpoint", l.UserEndpoint}, []string{"user prompt, SHA-256", l.UserPrompt})
	}
	for _, row := range [][]string{
		{"prompt for opaque contexts, SHA-256", l.InsidePrompt}, {"judge asked by", l.JudgeAPI},
		{"agent's model sent", l.AgentSent}, {"judge's model sent", l.JudgeSent},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	if l.AgentAPI != "" {
		rows = append(rows, []string{"agent asked by", l.AgentAPI})
	}
	if l.Injected != "" {
		rows = append(rows, []string{"injected failure", l.Injected})
	}
	for _, arm := range r.Arms {
		made := string(arm.Kind)
		if arm.Compactor != "" {
			made = fmt.Sprintf("%s, digest %s", arm.Compactor, arm.Digest)
		}
		rows = append(rows, []string{"arm " + arm.Name, cmp.Or(arm.Role, "arm") + ": " + made})
	}
	table := newTableView("All that this result depends on", rows)
	for i := range table.Rows {
		table.Rows[i][1].Number = false
	}
	return sectionView{"lineage", "Lineage", []partView{{Table: table}}}
}

// newDisagreeView shows the disagreements, with the pairs of those that have one.
func newDisagreeView(page *Page) disagreeView {
	r := page.Report
	v := disagreeView{Title: fmt.Sprintf("Disagreements: none in %s", Plural(r.Pairs.Total, "pair"))}
	n := min(len(r.Disagreements), mostPairs)
	if n == 0 {
		return v
	}
	v.Title = fmt.Sprintf("Disagreements: %d of %s", len(r.Disagreements), Plural(r.Pairs.Total, "pair"))
	v.Cut = len(r.Disagreements) - n
	entries := map[string]*pairing.Entry{}
	for i := range page.Queue {
		entries[page.Queue[i].ID] = &page.Queue[i]
	}
	list := worstFirst(r.Disagreements)
	for i := range n {
		d := &list[i]
		// A pair is read when it is shown, so that the contexts of one are in memory at
		// a time.
		var pair *pairOf
		if entry := entries[d.ID]; entry != nil && page.Record != nil {
			pair = readPair(page.Record, entry)
		}
		v.Pairs = append(v.Pairs, newPairView(i+1, r, d, pair, &room{min(pairBytes, pairsBytes/n)}))
	}
	return v
}

func cellTone(c pairing.Cell) tone {
	if c == pairing.Gain {
		return good
	}
	return bad
}
