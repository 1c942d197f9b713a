package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/doubletake-dev/doubletake/analysis/report"
)

// pairTable is rows below headers. Its last column is a title, which may be shortened.
type pairTable struct {
	headers []string
	rows    [][]string
	// statuses are the headers of columns that say how something came out.
	statuses []string
}

func (t *pairTable) row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = report.Clean(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// leastTitle is how many places a title has at least beside the other columns.
const leastTitle = 20

// print lays the table out in columns. Where a terminal is too narrow for them, a row is a
// paragraph that says what is in which column.
func (t *pairTable) print(s *screen) error {
	rows := t.rows
	if !s.whole {
		title := s.width - t.beforeTitle()
		if title < min(leastTitle, t.widest(len(t.headers)-1)) {
			t.paragraphs(s)
			return nil
		}
		rows = make([][]string, len(t.rows))
		for i, row := range t.rows {
			last := len(row) - 1
			rows[i] = append(row[:last:last], runewidth.Truncate(row[last], title, "…"))
		}
	}
	for i, row := range append([][]string{t.headers}, rows...) {
		var b strings.Builder
		for column, cell := range row[:len(row)-1] {
			filled := runewidth.FillRight(cell, t.widest(column)+2)
			if i > 0 && slices.Contains(t.statuses, t.headers[column]) {
				filled = s.style.Status(filled)
			}
			b.WriteString(filled)
		}
		if _, err := fmt.Fprintf(s.out, "%s%s\n", b.String(), row[len(row)-1]); err != nil {
			return err
		}
	}
	return nil
}

// widest is the width of a column.
func (t *pairTable) widest(column int) int {
	widest := runewidth.StringWidth(t.headers[column])
	for _, row := range t.rows {
		widest = max(widest, runewidth.StringWidth(row[column]))
	}
	return widest
}

// beforeTitle is where the last column begins.
func (t *pairTable) beforeTitle() int {
	places := 0
	for column := range len(t.headers) - 1 {
		places += t.widest(column) + 2
	}
	return places
}

// paragraphs begins each row with its first two columns; the others follow by name.
func (t *pairTable) paragraphs(s *screen) {
	for _, row := range t.rows {
		s.line(0, "%s %s", row[0], row[1])
		var parts []string
		last := len(row) - 1
		for column := 2; column < last; column++ {
			if row[column] != "-" && row[column] != "" {
				parts = append(parts, t.headers[column]+" "+row[column])
			}
		}
		s.line(2, "%s", strings.Join(parts, "; "))
		if row[last] != "" {
			s.line(2, "%s", row[last])
		}
	}
}
