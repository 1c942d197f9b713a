package labelling

// Rating is what one rater says about one case: a line of a file of labels.
type Rating struct {
	CaseSHA256 string        `json:"caseSha256"`
	SampleID   string        `json:"sampleId"`
	Rater      string        `json:"rater"`
	Kind       Kind          `json:"kind"`
	Ratings    []ClaimRating `json:"ratings"`
	// ExpectedQuality is nil where the rater scored nothing.
	ExpectedQuality *Quality    `json:"expectedQuality"`
	ReviewState     ReviewState `json:"reviewState"`
	Note            string      `json:"note,omitempty"`
}

// ClaimRating is what a rater says about one claim. Whether it is true and whether the
// producer had grounds for it are two questions.
type ClaimRating struct {
	Claim     string     `json:"claim"`
	Truth     Truth      `json:"truth"`
	Grounding Grounding  `json:"grounding"`
	Evidence  []Citation `json:"evidence"`
}

// Citation is a span of a text of evidence, in bytes.
type Citation struct {
	ID    string `json:"id"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Kind says whether a rater is a person or a model.
type Kind string

// The kinds of raters.
const (
	Human Kind = "human"
	Judge Kind = "judge"
)

// Truth is whether a claim is so, by all the evidence of its case.
type Truth string

// The values of truth. Unsupported: the evidence says neither.
const (
	True             Truth = "true"
	False            Truth = "false"
	TruthUnsupported Truth = "unsupported"
)

// Truths lists the values in the order in which reports print them.
func Truths() []Truth { return []Truth{True, False, TruthUnsupported} }

// Grounding is whether the producer had grounds for a claim in what it saw.
type Grounding string

// The values of grounding. Supported wants a citation of evidence that was seen.
const (
	Supported            Grounding = "supported"
	GroundingUnsupported Grounding = "unsupported"
	GroundingUnknown     Grounding = "unknown"
)

// Groundings lists the values in the order in which reports print them.
func Groundings() []Grounding {
	return []Grounding{Supported, GroundingUnsupported, GroundingUnknown}
}
