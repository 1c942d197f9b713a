package outcomes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// promptfooRow is what counts of a row of promptfoo.
type promptfooRow struct {
	TestIdx   *int            `json:"testIdx"`
	PromptIdx int             `json:"promptIdx"`
	Provider  json.RawMessage `json:"provider"` // an object with an id, or the id
	Prompt    struct {
		Label string `json:"label"`
		Raw   string `json:"raw"`
	} `json:"prompt"`
	Vars        json.RawMessage `json:"vars"`
	Description string          `json:"description"`
	TestCase    struct {
		Description string          `json:"description"`
		Vars        json.RawMessage `json:"vars"`
		Metadata    json.RawMessage `json:"metadata"`
	} `json:"testCase"`
	Success     *bool              `json:"success"`
	Score       *float64           `json:"score"`
	NamedScores map[string]float64 `json:"namedScores"`
	// FailureReason is 0 for none, 1 for an assertion, 2 for an error.
	FailureReason *int            `json:"failureReason"`
	Error         json.RawMessage `json:"error"`
	Grading       json.RawMessage `json:"gradingResult"`
	Metadata      json.RawMessage `json:"metadata"`
}

// promptfooColumn is a prompt under a provider.
type promptfooColumn struct {
	index    int
	provider string
	label    string
}

// promptfoo reads a file of results, or rows of results a line. A row is known by the
// description and the variables of its test, so that a test that moved in the config
// still meets itself; where tests are repeated, they are numbered. Where a file has
// several columns, the provider and the number of its prompt belong to the key, too.
func (f *File) promptfoo(in io.Reader, o Options) ([]raw, error) {
	var rows []promptfooRow
	dec := json.NewDecoder(newPlainNumbers(withoutMark(in)))
	add := func() error {
		var row promptfooRow
		if err := dec.Decode(&row); err != nil {
			return err
		}
		rows = append(rows, row)
		return nil
	}
	err := promptfooRows(dec, add, &rows)
	if err != nil {
		return nil, place(f.Path, dec, err)
	}
	columns := columnsOf(rows)
	wanted, err := wantedColumns(columns, o.Column)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	f.Metric = o.Metric
	var found []raw
	for i := range rows {
		row := &rows[i]
		column := row.column()
		at := slices.Index(wanted, column)
		if at < 0 {
			continue
		}
		r, err := row.raw(o)
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", f.Path, i+1, err)
		}
		r.at = fmt.Sprintf("row %d", i+1)
		if row.TestIdx == nil {
			r.order = i // no number: a repeat, not a duplicate
		}
		if len(wanted) > 1 {
			name := columnName(wanted, at)
			r.content += " " + name
			r.name += " under " + name
		}
		found = append(found, r)
	}
	if len(wanted) > 1 {
		f.Notes = append(f.Notes, fmt.Sprintf("%d columns of %s are taken together; --column looks at one", len(wanted), f.Path))
	}
	return found, nil
}

// promptfooRows finds the rows wherever the version of promptfoo keeps them.
func promptfooRows(dec *json.Decoder, add func() error, rows *[]promptfooRow) error {
	return values(dec, func(first json.Token) error {
		switch first {
		case json.Delim('['):
			return list(dec, add)
		case json.Delim('{'):
		default:
			return fmt.Errorf("%v where a row was expected", first)
		}
		// A row of its own, or a document that holds rows.
		fields := map[string]json.RawMessage{}
		document := false
		err := object(dec, func(key string) error {
			if key == "results" {
				document = true
				return nested(dec, add)
			}
			if document || key == "config" || key == "prompts" || key == "evalId" || key == "response" {
				return skip(dec)
			}
			var value json.RawMessage
			if err := dec.Decode(&value); err != nil {
				return err
			}
			fields[key] = value
			return nil
		})
		if err != nil || document {
			return err
		}
		whole, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		var row promptfooRow
		if err := json.Unmarshal(whole, &row); err != nil {
			return err
		}
		*rows = append(*rows, row)
		return nil
	})
}

// nested reads the value of results: the rows, or an object with the rows as its results.
func nested(dec *json.Decoder, add func() error) error {
	token, err := dec.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('['):
		return list(dec, add)
	case json.Delim('{'):
		return object(dec, func(key string) error {
			if key != "results" {
				return skip(dec)
			}
			token, err := dec.Token()
			if err != nil {
				return err
			}
			if token != json.Delim('[') {
				return fmt.Errorf("results.results is no list")
			}
			return list(dec, add)
		})
	}
	return fmt.Errorf("results is neither a list nor an object")
}

func (row *promptfooRow) column() promptfooColumn {
	c := promptfooColumn{index: row.PromptIdx, label: row.Prompt.Label}
	var provider struct {
		ID    string `json:"id"`
		Label string `json:"label"`
	}
	if json.Unmarshal(row.Provider, &c.provider) != nil && json.Unmarshal(row.Provider, &provider) == nil {
		c.provider = cmp.Or(provider.Label, provider.ID)
	}
	return c
}

func columnsOf(rows []promptfooRow) []promptfooColumn {
	var list []promptfooColumn
	seen := map[promptfooColumn]bool{}
	for i := range rows {
		if c := rows[i].column(); !seen[c] {
			seen[c] = true
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b promptfooColumn) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.provider, b.provider), cmp.Compare(a.label, b.label))
	})
	return list
}

func wantedColumns(columns []promptfooColumn, wanted string) ([]promptfooColumn, error) {
	if wanted == "" {
		return columns, nil
	}
	var list []promptfooColumn
	var names []string
	for _, c := range columns {
		if c.provider == wanted || c.label == wanted {
			list = append(list, c)
		}
		names = append(names, c.provider)
	}
	if len(list) == 0 {
		slices.Sort(names)
		return nil, fmt.Errorf("no column of the provider or prompt %q: the providers are %s", wanted, strings.Join(slices.Compact(names), ", "))
	}
	return list, nil
}

// columnName is the provider, with the number of the prompt among its prompts where it has
// several: the text of a prompt is what a change may change.
func columnName(columns []promptfooColumn, at int) string {
	provider := columns[at].provider
	number, count := 0, 0
	for i, c := range columns {
		if c.provider == provider {
			count++
			if i <= at {
				number++
			}
		}
	}
	if count == 1 {
		return provider
	}
	return fmt.Sprintf("%s prompt %d", provider, number)
}

func (row *promptfooRow) raw(o Options) (raw, error) {
	vars := row.TestCase.Vars
	if len(vars) == 0 || string(vars) == "null" {
		vars = row.Vars
	}
	if len(vars) == 0 {
		vars = json.RawMessage("null")
	}
	canonical, err := fixtures.CanonicalJSON(vars)
	if err != nil {
		return raw{}, fmt.Errorf("its vars: %w", err)
	}
	description := cmp.Or(row.TestCase.Description, row.Description)
	r := raw{content: string(fixtures.HashBytes([]byte(description + "\x00" + string(canonical))))}
	r.group = r.content
	r.name = description
	if row.TestIdx != nil {
		r.order = *row.TestIdx
		r.name = strings.TrimSuffix(fmt.Sprintf("test %d: %s", *row.TestIdx+1, description), ": ")
	}
	if r.name == "" {
		r.name = fmt.Sprintf("%.80s", canonical)
	}
	if o.Cluster != "" {
		if r.group, err = field(o.Cluster, row.TestCase.Metadata, row.Metadata, vars); err != nil {
			return r, err
		}
	}
	r.score, r.reason = row.score(o.Metric)
	return r, nil
}

// score is what the row says; an error of the provider is no outcome.
func (row *promptfooRow) score(metric string) (*float64, string) {
	const failedByError = 2
	none := func(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" || string(v) == `""` }
	if row.FailureReason != nil && *row.FailureReason == failedByError || row.FailureReason == nil && !none(row.Error) && none(row.Grading) {
		text := string(bytes.TrimSpace(row.Error))
		var plain string
		if json.Unmarshal(row.Error, &plain) == nil {
			text = plain
		}
		return nil, cmp.Or(text, "the provider or an assertion gave an error")
	}
	switch {
	case metric == "score" && row.Score != nil:
		return row.Score, ""
	case metric != "" && metric != "success":
		if value, ok := row.NamedScores[metric]; ok {
			return &value, ""
		}
		return nil, "no score named " + metric
	case row.Success == nil:
		return nil, "it says neither success nor failure"
	}
	return boolean(*row.Success), ""
}
