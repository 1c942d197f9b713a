package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// The elements of a JUnit report, as CI servers read them.
type (
	junitReport struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string           `xml:"name,attr"`
		Tests      int              `xml:"tests,attr"`
		Failures   int              `xml:"failures,attr"`
		Errors     int              `xml:"errors,attr"`
		Skipped    int              `xml:"skipped,attr"`
		Timestamp  string           `xml:"timestamp,attr,omitempty"`
		Properties *junitProperties `xml:"properties"`
		Cases      []junitCase      `xml:"testcase"`
	}
	junitProperties struct {
		List []junitProperty `xml:"property"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Failure *junitNote  `xml:"failure"`
		Error   *junitNote  `xml:"error"`
		Skipped *junitNote  `xml:"skipped"`
		Out     *junitLines `xml:"system-out"`
	}
	junitNote struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	junitLines struct {
		Text string `xml:",chardata"`
	}
)

// JUnit writes the run as JUnit XML, for a CI server. There is a suite for each
// comparison in which the candidate stands, with a test case a fixture; one for each
// class of items, with a test case for each fixture that has some; and one for the gates.
//
// A failure is a loss, whose type says where it is critical, an item newly lost, or a gate
// that regressed; an error is a pair
// that something other than the agent kept from an outcome; what is void, left out or
// in quarantine is skipped. A gain passes, and says so. Characters that XML 1.0 cannot
// hold are left out.
func JUnit(out io.Writer, n *analysis.Night) error {
	r := n.Report
	x := junitReport{Name: fmt.Sprintf("doubletake %s: %s", r.Command, r.Verdict)}
	for _, c := range n.Comparisons() {
		if c.Candidate == r.Candidate { // a loss of the incumbent is none of the change
			x.Suites = append(x.Suites, behaviourSuite(n, c))
		}
	}
	decisions := n.Decisions()
	for _, class := range fixtures.Classes() {
		if suite := itemSuite(r, class, decisions); len(suite.Cases) > 0 {
			x.Suites = append(x.Suites, suite)
		}
	}
	x.Suites = append(x.Suites, gateSuite(r))
	for i := range x.Suites {
		s := &x.Suites[i]
		s.Timestamp = n.Record.Run.Started.UTC().Format("2006-01-02T15:04:05")
		s.count()
		x.Tests += s.Tests
		x.Failures += s.Failures
		x.Errors += s.Errors
	}
	x.Suites[0].Properties = &junitProperties{runProperties(r)}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	enc := xml.NewEncoder(out)
	enc.Indent("", " ")
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	if _, err := io.WriteString(out, "\n"); err != nil {
		return fmt.Errorf("writing JUnit XML: %w", err)
	}
	return nil
}

func (s *junitSuite) count() {
	s.Tests = len(s.Cases)
	for i := range s.Cases {
		switch c := &s.Cases[i]; {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
}

func runProperties(r *analysis.Report) []junitProperty {
	return []junitProperty{
		{"run", Clean(r.Run)}, {"verdict", string(r.Verdict)}, {"mode", Clean(r.Mode)},
		{"set", Clean(r.Set.Name)}, {"set_version", Clean(r.Set.Version)}, {"set_hash", Clean(string(r.Set.Hash))},
		{"agent_model", Clean(r.Lineage.AgentModel)}, {"judge_model", Clean(r.Lineage.JudgeModel)}, {"program", Clean(r.Lineage.Program)},
	}
}

// behaviourSuite has a case a fixture, the worst first.
func behaviourSuite(n *analysis.Night, c analysis.Compared) junitSuite {
	suite := junitSuite{Name: fmt.Sprintf("behaviour: %s against %s", Clean(c.Candidate), Clean(c.Baseline))}
	for _, one := range rankedPairs(n, c) {
		p, entry, word := one.pair, one.entry, one.word
		x := junitCase{Class: suite.Name, Name: Clean(p.ConversationID)}
		switch {
		case entry != nil && entry.Cell == pairing.Loss:
			lines := entryLines(c, entry)
			x.Failure = &junitNote{Type: word, Message: entryHead(entry, word), Text: strings.Join(lines, "\n")}
		case entry != nil:
			x.Out = &junitLines{strings.Join(append([]string{entryHead(entry, word)}, entryLines(c, entry)...), "\n")}
		case p.Cell == pairing.Unscored:
			x.Error = &junitNote{Type: string(p.Cell), Message: Clean(p.Reason)}
		case !p.Cell.Scored():
			x.Skipped = &junitNote{Type: string(p.Cell), Message: Clean(p.Reason)}
		case p.Cell == pairing.BothFail:
			x.Out = &junitLines{"both arms fail: nothing that the compaction did"}
		}
		suite.Cases = append(suite.Cases, x)
	}
	for _, kept := range n.Record.Run.Plan.Quarantined {
		name, _, _ := strings.Cut(kept, ", until ")
		suite.Cases = append(suite.Cases, junitCase{Class: suite.Name, Name: Clean(name), Skipped: &junitNote{Type: "quarantine", Message: Clean("in quarantine: " + kept)}})
	}
	return suite
}

// entryHead says in a line what was lost where.
func entryHead(e *pairing.Entry, word string) string {
	head := word
	if e.Divergence != nil {
		head += fmt.Sprintf(" at turn %d", e.Divergence.Turn)
	}
	var items []string
	for _, f := range e.Items {
		if f.Lost() {
			items = append(items, fmt.Sprintf("%s %s of turn %d %s", f.Class, f.ID, f.Turn, f.Second))
		}
	}
	if len(items) > 0 {
		head += ": " + strings.Join(items, "; ")
	}
	return Clean(head)
}

// entryLines are what a person decides on a discordant pair from, in short.
func entryLines(c analysis.Compared, e *pairing.Entry) []string {
	arms := &analysis.Report{Baseline: c.Baseline, Candidate: c.Candidate}
	var lines []string
	if e.Title != "" {
		lines = append(lines, Clean(e.Title))
	}
	for _, f := range e.Items {
		if f.Lost() || f.First == replay.Absent || f.First == replay.Contradicted {
			lines = append(lines, Clean(fate(arms, f)))
		}
	}
	if d := e.Divergence; d != nil {
		lines = append(lines,
			fmt.Sprintf("turn %d is where they part:", d.Turn),
			"  "+Shorten(c.Baseline+" "+pairing.Describe(d.First), lineWidth),
			"  "+Shorten(c.Candidate+" "+pairing.Describe(d.Second), lineWidth))
	}
	for _, check := range e.Differ {
		failed, arm := check.Second, c.Candidate
		if check.First.Answer == fixtures.Fail {
			failed, arm = check.First, c.Baseline
		}
		lines = append(lines, Shorten(fmt.Sprintf("%s fails check %s: %s", arm, check.Check, failed.Evidence), lineWidth))
	}
	if c := e.Confirmed; c != nil {
		lines = append(lines, fmt.Sprintf("%s: the same in %d of %d further plays", c.Label, c.Same, c.Plays))
	}
	if e.By == pairing.Accepted {
		lines = append(lines, "against an accepted trace: no part of the test")
	}
	return lines
}

// itemSuite has a case for each fixture with items of the class.
func itemSuite(r *analysis.Report, class fixtures.Class, decisions []analysis.Decision) junitSuite {
	suite := junitSuite{Name: fmt.Sprintf("items: %s", class)}
	at := map[fixtures.Hash]int{}
	fresh, old, unscored := map[int][]string{}, map[int][]string{}, map[int][]string{}
	for i := range decisions {
		d := &decisions[i]
		if d.Arm != r.Candidate || d.Class != class {
			continue
		}
		k, ok := at[d.Fixture]
		if !ok {
			k = len(suite.Cases)
			at[d.Fixture] = k
			suite.Cases = append(suite.Cases, junitCase{Class: suite.Name, Name: Clean(d.ConversationID)})
		}
		line := Clean(fmt.Sprintf("item %s of turn %d %s at compaction %d (after turn %d): %q", d.Item, d.Turn, d.Verdict, d.Compaction+1, d.AfterTurn, d.Literal))
		switch {
		case d.NewlyLost:
			fresh[k] = append(fresh[k], line)
		case d.Verdict == replay.Stale, d.Binds && (d.Verdict == replay.Absent || d.Verdict == replay.Contradicted):
			old[k] = append(old[k], line+", as under the incumbent")
		case d.Binds && d.Verdict == replay.Unjudged:
			unscored[k] = append(unscored[k], line+": "+Clean(d.Reason))
		}
	}
	for k := range suite.Cases {
		x := &suite.Cases[k]
		rest := append(old[k], unscored[k]...)
		switch {
		case len(fresh[k]) > 0:
			x.Failure = &junitNote{Type: "lost", Message: fresh[k][0], Text: strings.Join(append(fresh[k], rest...), "\n")}
		case len(unscored[k]) > 0:
			x.Error = &junitNote{Type: string(replay.Unjudged), Message: unscored[k][0], Text: strings.Join(rest, "\n")}
		case len(rest) > 0:
			x.Out = &junitLines{strings.Join(rest, "\n")}
		}
	}
	return suite
}

// gateSuite has a case a row.
func gateSuite(r *analysis.Report) junitSuite {
	suite := junitSuite{Name: "gates"}
	for _, g := range r.Gates {
		x := junitCase{Class: suite.Name, Name: Clean(g.Name)}
		var lines []string
		for _, line := range append([]string{GateLine(g, Style{})}, g.NewlyLost...) {
			lines = append(lines, Clean(line))
		}
		switch text := strings.Join(lines, "\n"); g.Status {
		case analysis.GateRegressed:
			x.Failure = &junitNote{Type: string(g.Status), Message: Clean(g.Reason), Text: text}
		case analysis.GateUnscored:
			x.Skipped = &junitNote{Type: string(g.Status), Message: Clean(g.Reason)}
		default:
			x.Out = &junitLines{text}
		}
		suite.Cases = append(suite.Cases, x)
	}
	return suite
}
