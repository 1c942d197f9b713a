package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
)

// tornLines say which logs of people's decisions on a run end in the middle of a line, or
// end before they did.
func tornLines(dir string) []string {
	var lines []string
	for _, torn := range []func(string) (string, error){pairing.TornVerdicts, pairing.CutVerdicts, labelling.TornRatings} {
		line, err := torn(dir)
		if err != nil {
			line = err.Error()
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// warnTorn says aloud which lines do not count or are missing.
func warnTorn(c *cli.Context, dir string) {
	for _, line := range tornLines(dir) {
		fmt.Fprintf(report.Printable(c.App.ErrWriter), "warning: %s\n", line)
	}
}
