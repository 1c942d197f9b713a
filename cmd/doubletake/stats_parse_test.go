package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

func TestSquareTable(t *testing.T) {
	for _, tt := range []struct {
		text string
		want [][]int // nil is an error
	}{
		{"20,5,10,15", [][]int{{20, 5}, {10, 15}}},
		{"20 5 10 15", [][]int{{20, 5}, {10, 15}}},
		{"20,5;10,15", [][]int{{20, 5}, {10, 15}}},
		{" 20 , 5 | 10 15 |", [][]int{{20, 5}, {10, 15}}},
		{"7", [][]int{{7}}},
		{"1000000000,0,0,0", [][]int{{1_000_000_000, 0}, {0, 0}}},
		{"", nil}, {";", nil}, {"1,2,3", nil}, {"1,2;3", nil}, {"1,2;3,4;5,6", nil}, {"1,,2,3", nil},
		{"1000000001,0,0,0", nil}, {"-1,0,0,0", nil}, {"+1,0,0,0", nil}, {"1e3,0,0,0", nil}, {"NaN,0,0,0", nil}, {"1.0,0,0,0", nil},
		{"99999999999999999999999,0,0,0", nil},
	} {
		got, err := squareTable(tt.text)
		if (err == nil) != (tt.want != nil) || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %v, %v, want %v", tt.text, got, err, tt.want)
		}
		var exit *exitError
		if err != nil && (!errors.As(err, &exit) || exit.code != exitUsage) {
			t.Errorf("%q: %v is not wrong use", tt.text, err)
		}
	}
}

// A byte order mark and CRLF are what spreadsheets add.
func TestClusterFileFromSpreadsheet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sheet.csv")
	text := "\ufeff\"cluster\",a,b,c,d\r\n\"s,1\",1,2,0,0\r\n\r\n s2 ,1,0,1,0\r\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := program(t, "stats", "cluster", "--csv", path, "--json")
	if got["K"] != 2.0 || got["N"] != 5.0 || got["losses"] != 2.0 || got["gains"] != 1.0 {
		t.Errorf("%v", got)
	}
}

func FuzzMatrix(f *testing.F) {
	for _, seed := range []string{"20,5,10,15", "1 2|3 4", "1,,2;3", ";;", "-1", "9999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table, err := squareTable(text)
		if err != nil {
			return
		}
		for _, row := range table {
			if len(row) != len(table) {
				t.Fatalf("%q: %v is no square", text, table)
			}
			for _, n := range row {
				if n < 0 || n > 1_000_000_000 {
					t.Fatalf("%q: %d", text, n)
				}
			}
		}
	})
}

// Whatever the file, it is read or refused, and what was read can be computed.
func FuzzClusterFile(f *testing.F) {
	for _, seed := range []string{
		"cluster,a,b,c,d\ns1,1,2,3,4\n", "\ufeff\"cluster\",a,b,c,d\r\n\"s,1\",0,1,0,0\r\n", "cluster,a,b,c,d\ns1,1\n", "",
		"dataset,cluster,a,b,c,d\nx,1,1,1,1,1\ny,1,1,1,1,1\n",
	} {
		f.Add(seed, "")
	}
	f.Fuzz(func(t *testing.T, text, dataset string) {
		table, err := newCSVTable(strings.NewReader(text), "")
		if err != nil {
			return
		}
		clusters, err := readClusters(table, dataset)
		if err != nil {
			return
		}
		for _, c := range clusters {
			if c == (stats.ClusterTable{}) || min(c.BothPass, c.Losses, c.Gains, c.BothFail) < 0 {
				t.Fatalf("%+v", c)
			}
		}
		found, err := clusterFigures(clusters)
		if err != nil {
			return // too large
		}
		if _, err := found.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzLabelFile(f *testing.F) {
	for _, seed := range []string{"unit,A,B\n1,x,y\n2,x,\n", "unit,rater,label\n1,a,x\n1,b,y\n", "A\nx\n", "unit\n1\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		table, err := newCSVTable(strings.NewReader(text), "")
		if err != nil {
			return
		}
		read := readUnitLines
		if table.has("label") {
			if table.need(unitColumn, "rater") != nil {
				return
			}
			read = readLabelLines
		}
		units, err := read(table)
		if err != nil {
			return
		}
		if alpha := stats.KrippendorffAlpha(units); alpha.Value != nil && !(*alpha.Value <= 1) {
			t.Fatalf("alpha %v", *alpha.Value)
		}
	})
}
