package analysis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Settings are what the verdict is found by. They are fixed before a run and stored
// with it.
type Settings struct {
	// Alpha is the one-sided level of the pair test.
	Alpha float64 `json:"alpha"`
	// Margin is the largest tolerable difference in failures, for non-inferiority.
	Margin float64 `json:"margin"`
	// Confidence is that of the interval of the difference.
	Confidence float64 `json:"confidence"`
	// Power is the probability at which the smallest detectable loss is found.
	Power float64 `json:"power"`
	// Floors are the retention rates below which a class of items doesn't pass.
	Floors map[fixtures.Class]float64 `json:"floors"`
	// Contradictions is how many contradicted items are tolerated. A contradiction
	// that the incumbent does not have blocks whatever this says.
	Contradictions int `json:"contradictions"`
	// JudgeAccuracy is the share of planted controls that the judge must get right for
	// its verdicts to count.
	JudgeAccuracy float64 `json:"judge_accuracy"`
	// PromptRatio is the largest tolerable size of contexts after compaction over that
	// before; 0 for no limit.
	PromptRatio float64 `json:"prompt_ratio"`
	// Metrics are floors for the metrics, by name; latency_ms and tokens_per_query
	// have ceilings instead.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// MaxUnscored is the share of pairs or of decisions that may go unscored before
	// the run counts as incomplete.
	MaxUnscored float64 `json:"max_unscored"`
	// NoiseBudget is the share of control pairs in which the reference may disagree with
	// itself before the run counts as invalid.
	NoiseBudget float64 `json:"noise_budget"`
	// Stop says whether the run stops once harm is certain, looking after every
	// LookEvery sessions.
	Stop      Stop `json:"stop"`
	LookEvery int  `json:"look_every"`
	// SliceRate is the share of false discoveries among the slices marked.
	SliceRate float64 `json:"slice_rate"`
}

// Stop says when a run ends.
type Stop string

// When a run ends.
const (
	StopNever Stop = "never" // when everything was played
	StopEarly Stop = "early" // or once harm is certain at the level alpha
)

// ParseStop reads a name.
func ParseStop(name string) (Stop, error) {
	switch s := Stop(name); s {
	case StopNever, StopEarly:
		return s, nil
	}
	return "", fmt.Errorf("stop %q: want %s or %s", name, StopEarly, StopNever)
}

// DefaultSettings are the settings of a run that says nothing else.
func DefaultSettings() Settings {
	return Settings{
		Alpha: 0.05, Margin: 0.05, Confidence: 0.95, Power: 0.80, MaxUnscored: 0.10, JudgeAccuracy: 0.80,
		NoiseBudget: 0.05, Stop: StopNever, LookEvery: 8, SliceRate: 0.10,
		Floors: map[fixtures.Class]float64{
			fixtures.Constraint: 0.95, fixtures.Commitment: 0.95, fixtures.OpenQuestion: 0.90, fixtures.Reference: 0.98,
		},
	}
}

// Validate says what is wrong with the settings.
func (s Settings) Validate() error {
	share := func(name string, v, low, high float64) error {
		if !(v >= low && v <= high) {
			hint := ""
			if v > 1 && v/100 >= low && v/100 <= high {
				hint = fmt.Sprintf("; did you mean %v?", v/100) // a share, given in percent
			}
			return fmt.Errorf("%s: %v is not between %v and %v%s", name, v, low, high, hint)
		}
		return nil
	}
	for class, floor := range s.Floors {
		if err := share(string(class), floor, 0, 1); err != nil {
			return err
		}
	}
	if s.PromptRatio < 0 {
		return fmt.Errorf("prompt_size: %v is negative", s.PromptRatio)
	}
	if s.Contradictions < 0 {
		return fmt.Errorf("contradictions: %d is negative", s.Contradictions)
	}
	if s.LookEvery < 1 {
		return fmt.Errorf("look_every: %s; want at least 1", counted(s.LookEvery, "session"))
	}
	if _, err := ParseStop(string(s.Stop)); err != nil {
		return err
	}
	for _, err := range []error{
		share("noise_budget", s.NoiseBudget, 0, 1), share("slice_rate", s.SliceRate, 0, 1),
		share("alpha", s.Alpha, 1e-6, 0.49), share("margin", s.Margin, 1e-6, 0.99),
		share("confidence", s.Confidence, 0.5, 0.999999), share("power", s.Power, 0.01, 0.9999),
		share("max_unscored", s.MaxUnscored, 0, 1), share("min_accuracy", s.JudgeAccuracy, 0, 1),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// SetGate sets one floor or limit by the name that a config or a floors file has for it.
func (s *Settings) SetGate(name string, value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 0) || value < 0 {
		return fmt.Errorf("%s: %v is no limit: want a number from 0 on", name, value)
	}
	switch {
	case slices.Contains(fixtures.Classes(), fixtures.Class(name)):
		s.Floors[fixtures.Class(name)] = value
	case name == "contradictions":
		if value != float64(int(value)) {
			return fmt.Errorf("contradictions: %v is no whole number", value)
		}
		s.Contradictions = int(value)
	case name == "prompt_size":
		s.PromptRatio = value
	case slices.Contains(MetricNames(), name):
		if s.Metrics == nil {
			s.Metrics = map[string]float64{}
		}
		s.Metrics[name] = value
	default:
		return fmt.Errorf("%q is no gate: want one of %s", name, strings.Join(GateNames(), ", "))
	}
	return nil
}

// GateNames lists the names that [Settings.SetGate] knows.
func GateNames() []string {
	var names []string
	for _, class := range fixtures.Classes() {
		names = append(names, string(class))
	}
	return append(append(names, "contradictions", "prompt_size"), MetricNames()...)
}
