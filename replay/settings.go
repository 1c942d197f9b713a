package replay

import (
	"fmt"
	"time"
)

// Settings are the parameters of play that are the same for every episode of a
// run. They are part of the lineage.
type Settings struct {
	Model string `json:"model"`
	Seed  int    `json:"seed"`
	// Window is the model's window in tokens, for fixtures that name none.
	Window int `json:"window"`
	// Trigger is the share of the window at which a context is compacted, where
	// neither fixture nor recording says when.
	Trigger float64 `json:"trigger"`
	// StepLimit bounds the tool calls of one episode.
	StepLimit int `json:"step_limit"`
	// SecondPass gives each compactor its own last output once more, to see whether it
	// accepts it.
	SecondPass bool `json:"second_pass"`
	// Mode is how an episode goes on after the fork; the zero value is the closed loop.
	Mode Mode `json:"mode,omitempty"`
	// Concurrency is how many episodes are played at once; it changes no result.
	Concurrency int `json:"-"`
	// EpisodeTimeout bounds the time of one episode; 0 for no bound. Like a provider's
	// fault it can only keep an episode from an outcome.
	EpisodeTimeout time.Duration `json:"-"`
}

// Mode is how an episode goes on after the fork.
type Mode string

// The modes.
const (
	// ClosedLoop lets the agent go on from what it did itself, so that one difference
	// may bring the next. It is stored as nothing.
	ClosedLoop Mode = ""
	// StepByStep asks the agent once for each recorded turn after the fork, with the
	// recorded turns before it, so that each turn is measured without drift. Nothing is
	// called.
	StepByStep Mode = "step"
)

// closedLoop is how the closed loop is written where nothing would not be understood.
const closedLoop = "closed"

// ParseMode reads the name of a mode, closed or step; the empty name is the closed loop.
func ParseMode(name string) (Mode, error) {
	switch name {
	case "", closedLoop:
		return ClosedLoop, nil
	case string(StepByStep):
		return StepByStep, nil
	}
	return "", fmt.Errorf("mode %q: want closed (the agent goes on from its own turns) or step (each recorded turn is asked once)", name)
}

// String is the name of the mode.
func (m Mode) String() string {
	if m == ClosedLoop {
		return closedLoop
	}
	return string(m)
}

// The defaults of [Settings].
const (
	DefaultWindow      = 200_000
	DefaultTrigger     = 0.8
	DefaultStepLimit   = 60
	DefaultConcurrency = 8
	DefaultSeed        = 7
)

// ArmKind is how an arm makes its context.
type ArmKind string

// The kinds of arms.
const (
	// ReferenceArm plays the whole conversation, or stands on an accepted trace
	// where that does not fit the window.
	ReferenceArm ArmKind = "reference"
	// ControlArm plays the reference again, never from the cache.
	ControlArm ArmKind = "control"
	// CompactorArm plays what a compactor made.
	CompactorArm ArmKind = "compactor"
)

// Arm is a way to make the context of an episode.
type Arm struct {
	Name string
	Kind ArmKind
	// Compactor is set for compactor arms.
	Compactor Compactor
}
