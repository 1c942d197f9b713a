package labelling

import (
	"github.com/doubletake-dev/doubletake/replay"
)

// Key is the private part of an export: what each sample is. It stays in the run
// directory; whoever labels must not see it.
type Key struct {
	Header
	Samples []Sample
}

// Header says how an export was made, so that it can be made again.
type Header struct {
	Version int    `json:"version"`
	Run     string `json:"run"`
	Frame   Frame  `json:"pairs"`
	// Seed is what sample ids, groups and the order of cases depend on. Who knows it and
	// the run can find out what each sample is.
	Seed uint64 `json:"seed"`
	// MaxClaims bounds the claims of a case; 0 asks about every one.
	MaxClaims int `json:"claims"`
}

// Frame is which pairs of a run were exported.
type Frame string

// The frames.
const (
	// Discordant pairs are chosen by how they came out: they are a random sample of
	// nothing, however their fixtures were drawn.
	Discordant Frame = "discordant"
	// AllPairs are all pairs of the run, whatever their outcome.
	AllPairs Frame = "all"
)

// Side is a side of a pair.
type Side string

// The sides.
const (
	First  Side = "first"
	Second Side = "second"
)

// Sample is what unblinds a case, and what a report has to know of it.
type Sample struct {
	SampleID string `json:"sampleId"`
	// CaseSHA256 is the digest of the case in the blind stage, GroundingSHA256 that in the
	// grounding stage. They are empty where the capture failed, and nothing was asked.
	CaseSHA256      string `json:"caseSha256"`
	GroundingSHA256 string `json:"groundingSha256"`
	Pair            string `json:"pair"`
	Side            Side   `json:"side"`
	// Key is the episode, Against the arm of the pair's other one.
	replay.Key
	Against        string   `json:"against"`
	ConversationID string   `json:"conversation_id"`
	Group          string   `json:"group"` // as in the case
	SessionGroup   string   `json:"session_group"`
	Split          string   `json:"split"`
	Sampling       string   `json:"sampling"`
	ClaimCoverage  Coverage `json:"claimCoverage"`
	// Claims is how many the case asks about.
	Claims  int     `json:"claims"`
	Capture Capture `json:"capture"`
	// Named says that an exact text of the case holds a name that may unblind it.
	Named      bool           `json:"named,omitempty"`
	Provenance Provenance     `json:"provenance"`
	Literals   []LiteralCheck `json:"literal_checks"`
}

// Capture is how well a run holds an output. A failed one is in no denominator.
type Capture struct {
	Status CaptureStatus `json:"status"`
	// Producer is how the episode ended.
	Producer    replay.EpisodeStatus `json:"producerStatus"`
	Limitations []string             `json:"limitations"`
}

// CaptureStatus is whether an output was captured.
type CaptureStatus string

// The statuses of captures. What is unknown stays unknown.
const (
	Captured       CaptureStatus = "captured"
	CaptureFailed  CaptureStatus = "failed"
	CaptureUnknown CaptureStatus = "unknown"
)

// CaptureStatuses lists the statuses in the order in which reports print them.
func CaptureStatuses() []CaptureStatus {
	return []CaptureStatus{Captured, CaptureFailed, CaptureUnknown}
}

// Provenance is where an output came from; nil is unknown.
type Provenance struct {
	// SourceRevision is the set, the fixture and the program.
	SourceRevision *string `json:"sourceRevision"`
	Model          *string `json:"model"`
	// Fingerprint is what the provider says of the model's build.
	Fingerprint *string `json:"fingerprint"`
	// PromptDigest is the SHA-256 of the system message and of what the compactor
	// depends on: its prompt where it names one, else the digest of its command.
	PromptDigest *string `json:"promptDigest"`
	// CostUSD and TimeMS are those of all answers that the episode took, whoever paid.
	CostUSD *float64 `json:"costUsd"`
	TimeMS  *float64 `json:"timeMs"`
}
