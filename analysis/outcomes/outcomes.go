package outcomes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Format is how a file holds outcomes.
type Format string

// The formats.
const (
	// Auto tells the format from the file.
	Auto Format = "auto"
	// Promptfoo is what promptfoo eval writes with -o, as .json or .jsonl.
	Promptfoo Format = "promptfoo"
	// Inspect is a log of Inspect, .eval or .json.
	Inspect Format = "inspect"
	// LMEval is a file of samples that lm-eval writes with --log_samples.
	LMEval Format = "lm-eval"
	// CSV is a table with the columns id and outcome, with commas or tabs between.
	CSV Format = "csv"
	// Run is a run directory: the outcomes of one of its arms.
	Run Format = "run"
)

// Formats lists the formats.
func Formats() []Format { return []Format{Auto, Promptfoo, Inspect, LMEval, CSV, Run} }

// Options say what of a file to read. The zero value reads a file that holds one kind of
// outcome only.
type Options struct {
	// Format of the file; empty is [Auto].
	Format Format
	// Metric is the scorer, metric or column that the outcome is taken from, where the
	// file has several.
	Metric string
	// Filter is the filter of lm-eval whose answers count, where the file has several.
	Filter string
	// Column is the provider or the label of the prompt whose rows count, where a file
	// of promptfoo has several.
	Column string
	// Cluster is the field by which rows belong together, so that they are not
	// independent of each other; empty takes repeats of one sample together.
	Cluster string
	// Threshold is the score from which on a row passes. Without one a score must be 0
	// or 1.
	Threshold *float64
	// Arm is the arm of a run directory; empty is the candidate.
	Arm string
}

// File is the outcomes of a file.
type File struct {
	Path   string `json:"path"`
	Format Format `json:"format"`
	// Metric is what the outcome was taken from, empty where there is but one.
	Metric string `json:"metric,omitempty"`
	Rows   []Row  `json:"-"`
	// Duplicates names the keys that several rows have. None of them is among the rows.
	Duplicates []string `json:"duplicates"`
	// DuplicateRows says where each of them stands.
	DuplicateRows []Duplicate `json:"duplicate_rows,omitempty"`
	// Notes are what a reader must know about the file.
	Notes []string `json:"notes"`

	plan    *replay.Plan    // of a run
	doubled map[string]bool // what the duplicates ask, as [raw] has it
}

// Duplicate is a key that several rows have.
type Duplicate struct {
	Name string `json:"name"`
	// At is where its rows stand, as in "line 2".
	At []string `json:"at"`
}

// Row is one outcome.
type Row struct {
	// Key pairs it with the row of another file, Name says it to people.
	Key  string
	Name string
	// Group is the unit that is independent of the others.
	Group  string
	Answer fixtures.Answer
	// Score is what the answer was made from, where it was a number.
	Score *float64
	// Reason says why a row is unscored.
	Reason string
}

// content is what the row asks, as [raw] has it.
func (r *Row) content() string {
	_, content, _ := strings.Cut(r.Key, "\x00")
	return content
}

// where says in words where the rows of a key stand.
func (d *Duplicate) where() string {
	const most = 5
	at := d.At
	more := ""
	if len(at) > most {
		more = fmt.Sprintf(" and %d more", len(at)-most)
		at = at[:most]
	}
	return strings.Join(at, ", ") + more
}

// raw is a row as a reader finds it.
type raw struct {
	// content tells what was asked. Rows of the same content are repeats where their
	// orders differ, and duplicates where they don't.
	content string
	order   int
	name    string
	group   string
	at      string // where it stands in the file, as in "line 2"
	// score is nil where there is none, for the reason.
	score  *float64
	reason string
}

// settle makes rows from what a reader found.
func (f *File) settle(found []raw, o Options) error {
	if len(found) == 0 {
		return fmt.Errorf("%s: no outcome in this %s file", f.Path, f.Format)
	}
	repeats := map[string][]int{}
	for i := range found {
		repeats[found[i].content] = append(repeats[found[i].content], found[i].order)
	}
	for content := range repeats {
		slices.Sort(repeats[content])
	}
	f.doubled = map[string]bool{}
	var order []string
	doubled := map[string]*Duplicate{}
	for i := range found {
		r := &found[i]
		orders := repeats[r.content]
		at, _ := slices.BinarySearch(orders, r.order)
		if at+1 < len(orders) && orders[at+1] == r.order {
			key := fmt.Sprint(r.content, "#", r.order)
			if doubled[key] == nil {
				doubled[key] = &Duplicate{Name: r.name}
				f.Duplicates = append(f.Duplicates, r.name)
				order = append(order, key)
			}
			doubled[key].At = append(doubled[key].At, cmp.Or(r.at, fmt.Sprintf("row %d", i+1)))
			f.doubled[r.content] = true
			continue
		}
		row := Row{Name: r.name, Group: cmp.Or(r.group, r.content), Score: r.score, Reason: r.reason, Answer: fixtures.Unscored}
		// Repeats are numbered in their order, so that the first of one file meets the
		// first of the other, wherever each stands.
		row.Key = fmt.Sprintf("%d\x00%s", at+1, r.content)
		if r.score != nil {
			answer, err := answerOf(*r.score, o.Threshold)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", f.Path, r.name, err)
			}
			row.Answer = answer
		}
		f.Rows = append(f.Rows, row)
	}
	for _, key := range order {
		f.DuplicateRows = append(f.DuplicateRows, *doubled[key])
	}
	if len(order) > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("rows of %s with the same %s are left out, since nothing tells them apart: leave one of each in the file, or give each its own", f.Path, f.known()))
	}
	return nil
}

// known is what a row of the format is known by.
func (f *File) known() string {
	switch f.Format {
	case Promptfoo:
		return "test and testIdx"
	case Inspect:
		return "id and epoch"
	case LMEval:
		return "document and doc_id"
	}
	return "id"
}

// answerOf is the outcome of a score.
func answerOf(score float64, threshold *float64) (fixtures.Answer, error) {
	switch {
	case threshold != nil && score >= *threshold, threshold == nil && score == 1:
		return fixtures.Pass, nil
	case threshold != nil, score == 0:
		return fixtures.Fail, nil
	}
	return fixtures.Unscored, fmt.Errorf("its score is %v, neither 0 nor 1: say from which score on a row passes with --threshold", score)
}

// choose picks the one of several names that the user wants: the wanted one, or the only
// one.
func choose(names []string, wanted, what, flag string) (string, error) {
	if wanted == "" && len(names) == 1 {
		return names[0], nil
	}
	if slices.Contains(names, wanted) {
		return wanted, nil
	}
	have := strings.Join(names, ", ")
	if wanted != "" {
		return "", fmt.Errorf("no %s %q: it has %s", what, wanted, have)
	}
	return "", fmt.Errorf("it has several %ss (%s): name one with --%s", what, have, flag)
}

// number is a pointer to a score.
func number(x float64) *float64 { return &x }

func boolean(is bool) *float64 {
	if is {
		return number(1)
	}
	return number(0)
}
