package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// figure is a number under its name, or the reason why there is none.
type figure struct {
	name   string
	value  any // nil with a reason
	reason string
}

// figures are printed in the order in which they were added.
type figures []figure

// add adds a value that exists. A float64 that JSON could not hold does not.
func (f *figures) add(name string, value any) {
	if x, ok := value.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
		*f = append(*f, figure{name: name, reason: "outside_float64"})
		return
	}
	*f = append(*f, figure{name: name, value: value})
}

// optional adds a value that may not exist, and why.
func (f *figures) optional(name string, value *float64, reason string) {
	if value == nil {
		*f = append(*f, figure{name: name, reason: reason})
		return
	}
	f.add(name, *value)
}

// exp adds a value that is known by its logarithm.
func (f *figures) exp(name string, log float64) { f.add(name, math.Exp(log)) }

// interval adds both limits.
func (f *figures) interval(prefix string, estimate stats.Estimate) {
	if estimate.Interval == nil {
		f.optional(prefix+"_lo", nil, estimate.Reason)
		f.optional(prefix+"_hi", nil, estimate.Reason)
		return
	}
	f.add(prefix+"_lo", estimate.Interval.Low)
	f.add(prefix+"_hi", estimate.Interval.High)
}

// fraction adds digits that no float64 holds, empty where there are none.
func (f *figures) fraction(name, value, reason string) {
	if value == "" {
		f.optional(name, nil, reason)
		return
	}
	f.add(name, value)
}

// reasonUnbounded is why a ratio is no number: there is nothing to divide by.
const reasonUnbounded = "unbounded"

// MarshalJSON writes an object in order: for what is undefined null, with a second
// key, name_reason. At the end reason is the first of these, and upper_unbounded is
// true where a ratio has no upper end. Numbers are the shortest that read back as the
// same float64.
func (f figures) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, x := range f {
		if i > 0 {
			out.WriteByte(',')
		}
		value, err := json.Marshal(x.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
		fmt.Fprintf(&out, "%q:%s", x.name, value)
		if x.value == nil {
			fmt.Fprintf(&out, ",%q:%q", x.name+"_reason", x.reason)
		}
	}
	undefined := func(x figure) bool { return x.value == nil }
	unbounded := func(x figure) bool { return undefined(x) && x.reason == reasonUnbounded }
	if i := slices.IndexFunc(f, undefined); i >= 0 {
		fmt.Fprintf(&out, ",\"reason\":%q", f[i].reason)
	}
	if slices.ContainsFunc(f, unbounded) {
		out.WriteString(`,"upper_unbounded":true`)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func (x figure) String() string {
	switch value := x.value.(type) {
	case nil:
		return "undefined: " + x.reason
	case float64:
		return strconv.FormatFloat(value, 'g', 6, 64)
	default:
		return fmt.Sprint(value)
	}
}

// print prints a figure a line, or JSON.
func (f figures) print(c *cli.Context) error {
	if c.Bool("json") {
		return writeFigures(c.App.Writer, f)
	}
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, x := range f {
		fmt.Fprintf(table, "%s\t%s\n", x.name, x)
	}
	return table.Flush()
}

// printFigureTable prints rows with the named columns, or JSON with all of them.
func printFigureTable(c *cli.Context, name string, rows []figures, columns ...string) error {
	if c.Bool("json") {
		return writeFigures(c.App.Writer, map[string][]figures{name: rows})
	}
	table := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, column := range columns {
		fmt.Fprintf(table, "%s\t", column)
	}
	fmt.Fprintln(table)
	for _, row := range rows {
		for _, column := range columns {
			fmt.Fprintf(table, "%s\t", row.at(column))
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

func (f figures) at(name string) figure {
	for _, x := range f {
		if x.name == name {
			return x
		}
	}
	return figure{name: name, reason: "no_such_figure"}
}

func writeFigures(out io.Writer, value any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}
