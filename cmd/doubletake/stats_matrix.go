package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// matrixRows splits the text of a table: rows end with ; or | or a new line, cells
// with a comma or, in a row without one, with a space. A cell between two commas may
// be empty.
func matrixRows(text string) [][]string {
	var rows [][]string
	for row := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '|' || r == '\n' }) {
		if strings.TrimSpace(row) == "" {
			continue
		}
		if !strings.Contains(row, ",") {
			rows = append(rows, strings.Fields(row))
			continue
		}
		cells := strings.Split(row, ",")
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
		}
		rows = append(rows, cells)
	}
	return rows
}

// matrixCounts reads a table of counts.
func matrixCounts(text string) ([][]int, error) {
	var table [][]int
	for i, row := range matrixRows(text) {
		var counts []int
		for _, cell := range row {
			n, err := parseCount(cell)
			if err != nil {
				return nil, usageError("--matrix: row %d: %w", i+1, err)
			}
			counts = append(counts, n)
		}
		table = append(table, counts)
	}
	return table, nil
}

// squareTable reads a table with as many rows as columns, which may also be given as
// one list, row by row.
func squareTable(text string) ([][]int, error) {
	table, err := matrixCounts(text)
	if err != nil {
		return nil, err
	}
	if len(table) == 1 {
		cells, k := table[0], 0
		for k*k < len(cells) {
			k++
		}
		if k*k != len(cells) {
			return nil, usageError("--matrix has %d counts: want 4, 9, 16 or another square", len(cells))
		}
		table = slices.Collect(slices.Chunk(cells, k))
	}
	if len(table) == 0 {
		return nil, usageError("--matrix has no counts: want 4, 9, 16 or another square")
	}
	for i, row := range table {
		if len(row) != len(table) {
			return nil, usageError("--matrix has %d rows, but %d counts in row %d: want a square", len(table), len(row), i+1)
		}
	}
	return table, nil
}

// parseCount reads a whole number that is not negative and not too large to be counted.
func parseCount(text string) (int, error) {
	const most = 1_000_000_000
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, usageError("%q is no count: want a whole number from 0 to %d", text, most)
	}
	if err != nil || n > most {
		return 0, usageError("%s is too large a count: want a whole number from 0 to %d", text, most)
	}
	return int(n), nil
}
