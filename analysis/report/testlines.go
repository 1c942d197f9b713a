package report

import "github.com/doubletake-dev/doubletake/analysis"

// TestLines says in sentences what the pair test of a report found. Of the report, it
// reads the arms' names, pairs, test and settings.
func TestLines(r *analysis.Report) []string { return testLines(r) }
