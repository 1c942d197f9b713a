package stats

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The gold files hold values computed elsewhere, in 50 digits. They live beside
// the repository, not in it; the inline tables of published values are what a
// clean clone has.

// goldRow is one line of a gold file.
type goldRow struct {
	t      *testing.T
	line   int
	fields map[string]string
}

// gold returns the rows of a gold file and skips the test if there is none.
func gold(t *testing.T, name string) []goldRow {
	t.Helper()
	dir := os.Getenv("DOUBLETAKE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	file, err := os.Open(filepath.Join(dir, "gold", name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no gold values: %v (set DOUBLETAKE_SHARED to the folder that holds gold/)", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) < 2 {
		t.Fatalf("%s has no rows", name)
	}
	var rows []goldRow
	for i, record := range records[1:] {
		fields := map[string]string{}
		for j, header := range records[0] {
			fields[header] = record[j]
		}
		rows = append(rows, goldRow{t: t, line: i + 2, fields: fields})
	}
	return rows
}

func (r goldRow) text(name string) string {
	r.t.Helper()
	s, ok := r.fields[name]
	if !ok {
		r.t.Fatalf("no column %q", name)
	}
	return s
}

func (r goldRow) int(name string) int {
	r.t.Helper()
	n, err := strconv.Atoi(r.text(name))
	if err != nil {
		r.t.Fatalf("line %d: %s: %v", r.line, name, err)
	}
	return n
}

// float reads a number; NA is NaN, and what underflows is 0.
func (r goldRow) float(name string) float64 {
	r.t.Helper()
	s := r.text(name)
	if s == "NA" {
		return math.NaN()
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		r.t.Fatalf("line %d: %s: %v", r.line, name, err)
	}
	return x
}

// relative checks a value that must exist, to a relative tolerance. Subnormal
// numbers have no digits to compare; their logarithms are tested instead.
func (r goldRow) relative(name string, got, tolerance float64) {
	r.t.Helper()
	want := r.float(name)
	const normal = 0x1p-1022
	if math.Abs(want) < normal && math.Abs(got) < 2*normal {
		return
	}
	if math.IsNaN(got) || math.IsNaN(want) || math.Abs(got-want) > tolerance*math.Abs(want) {
		r.t.Errorf("line %d: %s = %.17g, want %.17g (off by %.2g)", r.line, name, got, want, got/want-1)
	}
}

// absolute checks a value that must exist, to an absolute tolerance.
func (r goldRow) absolute(name string, got, tolerance float64) {
	r.t.Helper()
	if want := r.float(name); !(math.Abs(got-want) <= tolerance) {
		r.t.Errorf("line %d: %s = %.17g, want %.17g (off by %.2g)", r.line, name, got, want, got-want)
	}
}

// optional checks a value that is nil exactly where the file says NA.
func (r goldRow) optional(name string, got *float64, tolerance float64) {
	r.t.Helper()
	switch na := r.text(name) == "NA"; {
	case na && got != nil:
		r.t.Errorf("line %d: %s = %v, want nil", r.line, name, *got)
	case !na && got == nil:
		r.t.Errorf("line %d: %s = nil, want %s", r.line, name, r.text(name))
	case !na:
		r.relative(name, *got, tolerance)
	}
}

// interval checks both limits, named prefix_lo and prefix_hi.
func (r goldRow) interval(prefix string, got *Interval, tolerance float64) {
	r.t.Helper()
	if got == nil {
		r.t.Errorf("line %d: %s: no interval", r.line, prefix)
		return
	}
	r.absolute(prefix+"_lo", got.Low, tolerance)
	r.absolute(prefix+"_hi", got.High, tolerance)
}

// integers reads a list of numbers separated by spaces.
func integers(t *testing.T, s string) []int {
	t.Helper()
	var list []int
	for _, field := range strings.Fields(s) {
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// must unwraps a result that cannot fail.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// within is for values published with a few digits.
func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}
