package replay

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
	// Concurrency is how many episodes are played at once; it changes no result.
	Concurrency int `json:"-"`
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
