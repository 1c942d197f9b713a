package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
)

// TestTinyEvidence: a p value that is tiny is not printed as zero, nor is a level.
func TestTinyEvidence(t *testing.T) {
	var out bytes.Buffer
	c := cli.NewContext(&cli.App{Writer: &out}, nil, nil)
	if err := printEvidence(c, analysis.Nights{Comparisons: []analysis.ComparisonOfNight{{Number: 1, PCluster: 3e-7, PAnytime: 0.0123, Level: 0.00002}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{" <0.0001 ", " 0.0123 ", " 2e-05 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "0.0000") {
		t.Errorf("a zero in\n%s", out.String())
	}
}
