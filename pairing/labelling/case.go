package labelling

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Version is the version of the formats.
const Version = 1

// Case is one output to be labelled: a line of an export. The fields of a sample that
// would unblind it stand in [Sample].
type Case struct {
	Version int `json:"version"`
	// SampleID is opaque. Identical outputs have different ones.
	SampleID string `json:"sampleId"`
	// CaseSHA256 is [Request.Digest]: a rating that names another one is stale.
	CaseSHA256 string `json:"caseSha256"`
	// Group is what cases have in common that makes them less than independent: the
	// session, under an opaque name.
	Group         string   `json:"group"`
	ClaimCoverage Coverage `json:"claimCoverage"`
	// ReviewState and ExpectedQuality are as a rating is to fill them in: not reviewed,
	// and all null.
	ReviewState     ReviewState `json:"reviewState"`
	ExpectedQuality Quality     `json:"expectedQuality"`
	Request         Request     `json:"request"`
}

// Request is the blinded part of a case, and all that its digest covers.
type Request struct {
	Stage    Stage      `json:"stage"`
	Output   Output     `json:"output"`
	Claims   []Claim    `json:"claims"`
	Evidence []Evidence `json:"evidence"`
}

// Stage is what a request shows of the evidence. A case is asked about once in each.
type Stage string

// The stages.
const (
	// Blind shows what the cases of every arm have in the same form: nothing of it tells
	// which arm made the output.
	Blind Stage = "blind"
	// Grounded shows what was in front of the producer, too: whoever knows how evidence is
	// made can see from it which side was compacted.
	Grounded Stage = "grounding"
)

// Stages lists the stages in the order in which they are labelled.
func Stages() []Stage { return []Stage{Blind, Grounded} }

// Output is what the agent said and called after the fork, exactly.
type Output struct {
	Text   string `json:"text"`
	SHA256 string `json:"sha256"` // of the text's bytes, in hexadecimal
}

// Claim is a sentence of the last text that the agent said, as a span of the output.
type Claim struct {
	ID string `json:"id"`
	// Start and End are offsets in bytes into the output's text; End is behind the last.
	Start  int    `json:"start"`
	End    int    `json:"end"`
	Text   string `json:"text"`
	SHA256 string `json:"sha256"`
}

// Evidence is a text that claims can be held against.
type Evidence struct {
	ID     string `json:"id"`
	Role   Role   `json:"role"`
	Text   string `json:"text"`
	SHA256 string `json:"sha256"`
	// SeenByProducer says whether this very text was in front of whoever made the output;
	// nil where that is unknown, or would tell the arms apart in the blind stage.
	SeenByProducer *bool `json:"seen_by_producer"`
}

// Role is what a text of evidence is.
type Role string

// The roles of evidence.
const (
	// Seen: what was in front of the producer after the fork, and in the grounding stage at
	// the fork, too.
	Seen Role = "seen"
	// Conversation: the recorded turns up to the fork, whole.
	Conversation Role = "conversation"
	// Compaction: the compacted context of the pair's other side. In the grounding stage
	// only: in the blind one it would say that this side is not the compacted one.
	Compaction Role = "compaction"
	// Reference: what was said and done from the same turn on with the whole
	// conversation. Only in cases of pairs that it is no side of: else one case of the
	// pair would show the other's output.
	Reference Role = "reference"
)

// Coverage says which claims of an output a case asks about.
type Coverage string

// The coverages. A selection never gets a rate over whole answers.
const (
	Exhaustive Coverage = "exhaustive"
	Selected   Coverage = "selected"
)

// ReviewState is what a rater did with a case.
type ReviewState string

// The states of review.
const (
	Reviewed    ReviewState = "Reviewed"
	Withheld    ReviewState = "Withheld" // looked at, and no label given on purpose
	NotReviewed ReviewState = "Not reviewed"
)

// ReviewStates lists the states in the order in which reports print them.
func ReviewStates() []ReviewState { return []ReviewState{Reviewed, Withheld, NotReviewed} }

// Quality scores a whole output from 1, as bad as it gets, to 5, nothing to object to. Nil
// is unscored, which is not a low score.
type Quality struct {
	Relevance  *int `json:"relevance"`
	Repetition *int `json:"repetition"` // 5: nothing is said or done twice without need
	Usefulness *int `json:"usefulness"`
	// Withholding: 5 where nothing that was to be said is held back, and nothing that was
	// not to be said is said.
	Withholding *int `json:"withholding"`
}

// The scores of a [Quality].
const (
	LowestScore  = 1
	HighestScore = 5
)

// Criterion is a criterion of quality with its score.
type Criterion struct {
	Name  string
	Score *int
}

// Criteria lists the scores by name, in the order in which reports print them.
func (q Quality) Criteria() []Criterion {
	return []Criterion{
		{"relevance", q.Relevance}, {"repetition", q.Repetition},
		{"usefulness", q.Usefulness}, {"withholding", q.Withholding},
	}
}

// Digest is the SHA-256, in hexadecimal, of a list of the request's digests. A line ends
// with a single line feed:
//
//	doubletake case 1 STAGE
//	output SHA256
//	claim ID START END SHA256
//	evidence ID ROLE SEEN SHA256
//
// with a line for every claim and every evidence in their order; SEEN is true, false or
// null. The digests are computed anew from the texts, never taken from their fields.
func (r *Request) Digest() string {
	var b strings.Builder
	fmt.Fprintf(&b, "doubletake case %d %s\n", Version, r.Stage)
	fmt.Fprintf(&b, "output %s\n", digest(r.Output.Text))
	for _, c := range r.Claims {
		fmt.Fprintf(&b, "claim %s %d %d %s\n", c.ID, c.Start, c.End, digest(c.Text))
	}
	for _, e := range r.Evidence {
		seen := "null"
		if e.SeenByProducer != nil {
			seen = fmt.Sprint(*e.SeenByProducer)
		}
		fmt.Fprintf(&b, "evidence %s %s %s %s\n", e.ID, e.Role, seen, digest(e.Text))
	}
	return digest(b.String())
}

// digest is the SHA-256 of a text in hexadecimal.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// claim returns the claim with that id, or nil.
func (r *Request) claim(id string) *Claim {
	for i := range r.Claims {
		if r.Claims[i].ID == id {
			return &r.Claims[i]
		}
	}
	return nil
}

// evidence returns the evidence with that id, or nil.
func (r *Request) evidence(id string) *Evidence {
	for i := range r.Evidence {
		if r.Evidence[i].ID == id {
			return &r.Evidence[i]
		}
	}
	return nil
}
