package analysis_test

import (
	"context"
	"fmt"
	"os"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/trial"
)

// A run is gated from its directory alone, wherever it was played. Here it is played
// first, offline, with a compactor that drops the oldest messages.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "night-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := playNight(dir); err != nil {
		panic(err)
	}

	night, err := analysis.Load(dir)
	if err != nil {
		panic(err)
	}
	r := night.Report
	fmt.Println(r.Verdict, r.Pairs.Losses, "losses", r.Pairs.Gains, "gains")
	for _, gate := range r.Gates {
		if gate.Status == analysis.GateRegressed {
			fmt.Println(gate.Status, gate.Name)
		}
	}
	// Output:
	// regressed 3 losses 0 gains
	// REGRESSED constraint
}

func playNight(dir string) error {
	files, err := adversarial.Files()
	if err != nil {
		return err
	}
	set, err := fixtures.LoadSet(files, "adversarial")
	if err != nil {
		return err
	}
	drops, err := compact.New(compact.NameTruncate, compact.Options{})
	if err != nil {
		return err
	}
	_, err = trial.Trial{
		Set: set, Compactor: drops, Dir: dir, Fixtures: []string{"forbidden-directory", "quiet-afternoon", "wrong-database"},
	}.Play(context.Background())
	return err
}
