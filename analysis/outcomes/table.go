package outcomes

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// idColumns and outcomeColumns are how tables call what is wanted, the first found first.
func idColumns() []string { return []string{"id", "key", "conversation_id", "test_id", "sample_id"} }

func outcomeColumns() []string {
	return []string{"outcome", "result", "pass", "passed", "success", "score"}
}

// table reads a table with a row of heads, with commas or tabs between. It has a column
// that names each row, and one that says how it came out: pass or fail, true or false, 1
// or 0, or a score; empty, unscored, error or skipped is no outcome.
func (f *File) table(in io.Reader, o Options) ([]raw, error) {
	buffered := bufio.NewReaderSize(withoutMark(in), 64<<10)
	head, _ := buffered.Peek(64 << 10)
	line, _, _ := bytes.Cut(head, []byte("\n"))
	r := csv.NewReader(buffered)
	if bytes.ContainsRune(line, '\t') && !bytes.ContainsRune(line, ',') {
		r.Comma = '\t'
	}
	heads, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: reading the row of heads: %w", f.Path, err)
	}
	heads = slices.Clone(heads)
	for i := range heads {
		heads[i] = strings.TrimSpace(heads[i])
	}
	id, err := column(heads, "", idColumns())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	outcome, err := column(heads, o.Metric, outcomeColumns())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	cluster := -1
	if o.Cluster != "" {
		if cluster, err = column(heads, o.Cluster, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	f.Metric = heads[outcome]
	var found []raw
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		at, _ := r.FieldPos(0)
		x := raw{content: row[id], name: row[id], at: fmt.Sprintf("line %d", at)}
		if strings.TrimSpace(x.content) == "" {
			return nil, fmt.Errorf("%s:%d: no %s in this row", f.Path, at, heads[id])
		}
		if cluster >= 0 {
			x.group = row[cluster]
		}
		if x.score, err = tableValue(row[outcome]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.Path, at, err)
		}
		if x.score == nil {
			x.reason = strings.TrimSpace("no outcome: " + row[outcome])
		}
		found = append(found, x)
	}
}

// column finds a column by the wanted name, or by one of the usual ones.
func column(heads []string, wanted string, usual []string) (int, error) {
	if wanted != "" {
		if i := slices.Index(heads, wanted); i >= 0 {
			return i, nil
		}
		return 0, fmt.Errorf("no column %q: it has %s", wanted, strings.Join(heads, ", "))
	}
	for _, name := range usual {
		if i := slices.IndexFunc(heads, func(h string) bool { return strings.EqualFold(h, name) }); i >= 0 {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no column %s: it has %s", strings.Join(usual, " or "), strings.Join(heads, ", "))
}

func tableValue(text string) (*float64, error) {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "", "unscored", "error", "skip", "skipped", "void", "n/a", "na", "nan", "null", "none":
		return nil, nil
	case "pass", "passed", "true", "yes", "correct", "ok", "c":
		return number(1), nil
	case "fail", "failed", "false", "no", "incorrect", "i":
		return number(0), nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x-x != 0 {
		return nil, fmt.Errorf("%.60q is no outcome: want pass or fail, true or false, or a number", text)
	}
	return &x, nil
}
