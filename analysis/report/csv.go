package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/pairing"
)

// PairsCSV writes a row for each pair of each comparison of the run, those of the main
// one first, and within each the worst. Critical says that the candidate fails in a way
// that blocks by itself. A text that a spreadsheet would take for a formula begins with an
// apostrophe.
func PairsCSV(out io.Writer, n *analysis.Night) error {
	rows := [][]string{{"run", "baseline", "candidate", "conversation", "fixture", "group", "by_reference", "cell", "outcome_baseline", "outcome_candidate",
		"divergence", "divergence_turn", "context_tokens_baseline", "context_tokens_candidate", "confirmed", "reason", "title", "critical"}}
	for _, c := range n.Comparisons() {
		confirmed := map[string]string{}
		for i := range c.Queue {
			if x := c.Queue[i].Confirmed; x != nil {
				confirmed[string(c.Queue[i].Fixture)] = string(x.Label)
			}
		}
		for _, x := range rankedPairs(n, c) {
			p := x.pair
			kind, turn := "", ""
			if d := p.Divergence; d != nil {
				kind, turn = string(d.Kind), strconv.Itoa(d.Turn)
			}
			rows = append(rows, []string{
				n.Report.Run, c.Baseline, c.Candidate, p.ConversationID, string(p.Fixture), p.Group, string(p.By), string(p.Cell),
				outcomeCell(p.First), outcomeCell(p.Second), kind, turn,
				strconv.Itoa(p.First.Tokens), strconv.Itoa(p.Second.Tokens), confirmed[string(p.Fixture)], p.Reason, p.Title, strconv.FormatBool(n.IsCritical(p)),
			})
		}
	}
	return writeCSV(out, "pairs", rows)
}

func outcomeCell(s pairing.Side) string { return string(s.Outcome.Answer) }

// ItemsCSV writes a row for each item at each compaction of the incumbent and the
// candidate, as [PairsCSV] does.
func ItemsCSV(out io.Writer, n *analysis.Night) error {
	rows := [][]string{{"run", "arm", "conversation", "fixture", "item", "class", "turn", "compaction", "after_turn", "in_force", "pinned", "verdict", "newly_lost", "coverage", "reason", "literal"}}
	decisions := n.Decisions()
	for i := range decisions {
		d := &decisions[i]
		coverage := ""
		if d.Coverage != nil {
			coverage = strconv.FormatFloat(*d.Coverage, 'g', -1, 64)
		}
		rows = append(rows, []string{
			n.Report.Run, d.Arm, d.ConversationID, string(d.Fixture), d.Item, string(d.Class), strconv.Itoa(d.Turn), strconv.Itoa(d.Compaction + 1),
			strconv.Itoa(d.AfterTurn), strconv.FormatBool(d.Binds), strconv.FormatBool(d.Pinned), string(d.Verdict), strconv.FormatBool(d.NewlyLost),
			coverage, d.Reason, d.Literal,
		})
	}
	return writeCSV(out, "items", rows)
}

func writeCSV(out io.Writer, what string, rows [][]string) error {
	w := csv.NewWriter(out)
	for i, row := range rows {
		for k, cell := range row {
			rows[i][k] = unformula(Clean(cell))
		}
		if err := w.Write(row); err != nil {
			return fmt.Errorf("writing the CSV of %s: %w", what, err)
		}
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return fmt.Errorf("writing the CSV of %s: %w", what, err)
	}
	return nil
}

// unformula keeps a spreadsheet from running a text. Numbers are as they are.
func unformula(text string) string {
	if text == "" || !strings.ContainsRune("=+-@", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}
