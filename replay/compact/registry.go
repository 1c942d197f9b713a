package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xrash/smetrics"

	"github.com/doubletake-dev/doubletake/replay"
)

// The names of the built-in compactors.
const (
	NameNone             = "none"
	NameTruncate         = "truncate"
	NameClearToolResults = "clear-tool-results"
	NameKeepEnds         = "keep-ends"
	NameSummarize        = "summarize"
	NameLedger           = "ledger"
	NameRecorded         = "recorded"
)

// Names lists the built-in compactors, the simplest first.
func Names() []string {
	return []string{NameNone, NameTruncate, NameClearToolResults, NameKeepEnds, NameSummarize, NameLedger, NameRecorded}
}

// NeedsModel says whether the built-in compactor of that name asks a model.
func NeedsModel(name string) bool { return name == NameSummarize || name == NameLedger }

// New makes the built-in compactor of that name. The error for another name lists
// the known ones and the nearest.
func New(name string, options Options) (replay.Compactor, error) {
	if options.Keep < 0 {
		return nil, fmt.Errorf("compactor %q: keep is %d, want a number from 1, or 0 for the default", name, options.Keep)
	}
	if options.ToolUses < 0 || options.ClearAtLeast < 0 {
		return nil, fmt.Errorf("compactor %q: tool_uses is %d and clear_at_least is %d, want numbers from 0", name, options.ToolUses, options.ClearAtLeast)
	}
	if NeedsModel(name) && options.Model == nil {
		return nil, fmt.Errorf("compactor %q writes its summary with a model, and none is given", name)
	}
	switch name {
	case NameNone:
		return None{}, nil
	case NameTruncate:
		return &Truncate{counter: counterOf(options.Counter)}, nil
	case NameClearToolResults:
		return newClearToolResults(options), nil
	case NameKeepEnds:
		return &KeepEnds{counter: counterOf(options.Counter)}, nil
	case NameSummarize:
		return newSummarize(options), nil
	case NameLedger:
		return newLedger(options), nil
	case NameRecorded:
		return Recorded{}, nil
	}
	return nil, unknownName(name)
}

func unknownName(name string) error {
	known := strings.Join(Names(), ", ")
	if name == "" {
		return fmt.Errorf("a compactor has no name; the built-in ones are %s", known)
	}
	nearest := slices.MinFunc(Names(), func(a, b string) int {
		return smetrics.WagnerFischer(strings.ToLower(name), a, 1, 1, 1) - smetrics.WagnerFischer(strings.ToLower(name), b, 1, 1, 1)
	})
	if smetrics.WagnerFischer(strings.ToLower(name), nearest, 1, 1, 1) > max(2, len(name)/2) {
		return fmt.Errorf("no compactor is called %q; the built-in ones are %s; a command of yours runs as exec", name, known)
	}
	return fmt.Errorf("no compactor is called %q; did you mean %q? The built-in ones are %s", name, nearest, known)
}
