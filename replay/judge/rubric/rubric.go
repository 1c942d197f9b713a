// Package rubric asks the agent what it still knows after a compaction and has a judge
// grade the answers by fourteen criteria. It is advisory: no gate looks at it.
//
// The probes are made by rules from the part of the conversation that a compaction cut
// away, and never from a fixture's items, probes or checks. The grader never learns
// which arm or compactor made the context that it reads.
package rubric

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
)

//go:embed rubric.json
var shipped []byte

// rulesVersion is the version of the rules that make probes. A rubric names the one
// that it was written for, so that its digest binds them, too: raise both together.
const rulesVersion = 1

// The least and the greatest score.
const (
	lowest  = 0
	highest = 5
)

// Rubric is a versioned set of criteria with the wording of all that is asked.
type Rubric struct {
	Version    string      `json:"version"`
	Rules      int         `json:"rules"`
	Scale      Scale       `json:"scale"`
	Dimensions []Dimension `json:"dimensions"`
	Criteria   []Criterion `json:"criteria"`
	// Kinds says for each kind of probe how many are made and what they are graded by.
	Kinds map[replay.ProbeKind]Kind `json:"kinds"`
	// Questions are the templates of the probes.
	Questions map[string]string `json:"questions"`
	// ProbePrompt goes to the agent with every probe, GraderPrompt to the grader.
	ProbePrompt  []string `json:"probe_prompt"`
	GraderPrompt []string `json:"grader_prompt"`

	digest string
}

// Scale is the range of scores.
type Scale struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Dimension is a group of criteria.
type Dimension struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Criterion is one question that the grader answers with a score.
type Criterion struct {
	ID        string  `json:"id"`
	Dimension string  `json:"dimension"`
	Weight    float64 `json:"weight"`
	Question  string  `json:"question"`
	Guide     Guide   `json:"guide"`
}

// Guide says what scores mean.
type Guide struct {
	Zero  string `json:"0"`
	Three string `json:"3"`
	Five  string `json:"5"`
}

// Kind is how a kind of probe is made and graded.
type Kind struct {
	// Count is how many probes of the kind are made at a compaction, at most.
	Count    int      `json:"count"`
	Criteria []string `json:"criteria"`
}

// Shipped returns the rubric that ships with the program.
func Shipped() (*Rubric, error) { return Parse(shipped) }

// Parse reads a rubric and refuses one that does not hold together.
func Parse(data []byte) (*Rubric, error) {
	var r Rubric
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("reading the rubric: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("reading the rubric: more text follows the JSON value")
	}
	if err := r.validate(); err != nil {
		return nil, fmt.Errorf("reading the rubric: %w", err)
	}
	sum := sha256.Sum256(data)
	r.digest = hex.EncodeToString(sum[:])
	return &r, nil
}

// ID names the rubric: its version and the SHA-256 of its file.
func (r *Rubric) ID() replay.RubricID { return replay.RubricID{Version: r.Version, SHA256: r.digest} }

// The names of the templates.
const (
	askRecall   = "recall"
	askFiles    = "artifact_files"
	askFile     = "artifact_file"
	askGoal     = "continuation_goal"
	askOpen     = "continuation_open"
	askDecision = "decision"
)

func templates() []string {
	return []string{askRecall, askFiles, askFile, askGoal, askOpen, askDecision}
}

func (r *Rubric) validate() error {
	switch {
	case r.Version == "":
		return errors.New("it has no version")
	case r.Rules != rulesVersion:
		return fmt.Errorf("it was written for version %d of the rules that make probes, this program has version %d", r.Rules, rulesVersion)
	case r.Scale != Scale{lowest, highest}:
		return fmt.Errorf("its scale is %v to %v: want %d to %d", r.Scale.Low, r.Scale.High, lowest, highest)
	case len(r.ProbePrompt) == 0 || len(r.GraderPrompt) == 0:
		return errors.New("it lacks a prompt: want probe_prompt and grader_prompt")
	}
	for _, name := range templates() {
		if r.Questions[name] == "" {
			return fmt.Errorf("questions: there is none for %s", name)
		}
	}
	if len(r.Questions) != len(templates()) {
		return fmt.Errorf("questions: there are %d: want %s", len(r.Questions), strings.Join(templates(), ", "))
	}
	return errors.Join(r.validateCriteria(), r.validateKinds())
}

func (r *Rubric) validateCriteria() error {
	used := map[string]bool{}
	for i, c := range r.Criteria {
		switch {
		case c.ID == "" || c.Question == "" || c.Guide.Zero == "" || c.Guide.Three == "" || c.Guide.Five == "":
			return fmt.Errorf("criterion %d (%s): id, question and the guide's 0, 3 and 5 must be there", i+1, c.ID)
		case !(c.Weight > 0):
			return fmt.Errorf("criterion %s: the weight %v is not above 0", c.ID, c.Weight)
		case !slices.ContainsFunc(r.Dimensions, func(d Dimension) bool { return d.ID == c.Dimension }):
			return fmt.Errorf("criterion %s: there is no dimension %q", c.ID, c.Dimension)
		case slices.ContainsFunc(r.Criteria[:i], func(o Criterion) bool { return o.ID == c.ID }):
			return fmt.Errorf("criterion %s stands twice", c.ID)
		}
		used[c.Dimension] = true
	}
	for i, d := range r.Dimensions {
		if !used[d.ID] {
			return fmt.Errorf("dimension %s has no criteria", d.ID)
		}
		if slices.ContainsFunc(r.Dimensions[:i], func(o Dimension) bool { return o.ID == d.ID }) {
			return fmt.Errorf("dimension %s stands twice", d.ID)
		}
	}
	return nil
}

func (r *Rubric) validateKinds() error {
	for _, kind := range replay.ProbeKinds() {
		k, ok := r.Kinds[kind]
		if !ok || k.Count < 1 || len(k.Criteria) == 0 {
			return fmt.Errorf("kinds: %s needs a count of at least 1 and criteria", kind)
		}
		for i, id := range k.Criteria {
			if !slices.ContainsFunc(r.Criteria, func(c Criterion) bool { return c.ID == id }) {
				return fmt.Errorf("kinds: %s: there is no criterion %q", kind, id)
			}
			if slices.Contains(k.Criteria[:i], id) {
				return fmt.Errorf("kinds: %s: criterion %s stands twice", kind, id)
			}
		}
	}
	if len(r.Kinds) != len(replay.ProbeKinds()) {
		return fmt.Errorf("kinds: there are %d: want %v", len(r.Kinds), replay.ProbeKinds())
	}
	return nil
}

// criteria are those that a kind of probe is graded by, in the rubric's order.
func (r *Rubric) criteria(kind replay.ProbeKind) []Criterion {
	var list []Criterion
	for _, c := range r.Criteria {
		if slices.Contains(r.Kinds[kind].Criteria, c.ID) {
			list = append(list, c)
		}
	}
	return list
}
