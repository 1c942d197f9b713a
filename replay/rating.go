package replay

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// RatingsFile is the journal of ratings in a run directory. It is there where the
// advisory rubric was asked for.
const RatingsFile = "ratings.jsonl"

// ProbeKind is what a probe of the rubric asks for.
type ProbeKind string

// The kinds of probes.
const (
	ProbeRecall       ProbeKind = "recall"       // a detail that was said
	ProbeArtifact     ProbeKind = "artifact"     // the files that were made or changed
	ProbeContinuation ProbeKind = "continuation" // where the work stands and what is open
	ProbeDecision     ProbeKind = "decision"     // what was decided, and why
)

// ProbeKinds lists the kinds in the order in which reports print them.
func ProbeKinds() []ProbeKind {
	return []ProbeKind{ProbeRecall, ProbeArtifact, ProbeContinuation, ProbeDecision}
}

// Probe is a question about the part of a conversation that a compaction cut away. It
// is made from that part alone, never from a fixture's items.
type Probe struct {
	// ID depends on question and truth alone: arms that lost the same are asked the same.
	ID       string    `json:"id"`
	Kind     ProbeKind `json:"kind"`
	Question string    `json:"question"`
	// Answer is the answer in a word, where there is one.
	Answer string `json:"answer,omitempty"`
	// Truth is what the conversation says, each with its turn.
	Truth []Fact `json:"truth"`
}

// Fact is something that a recorded conversation says.
type Fact struct {
	Turn int    `json:"turn"`
	Role string `json:"role"`
	Text string `json:"text"`
}

// RatingStatus is what came of a probe.
type RatingStatus string

// The statuses of ratings.
const (
	RatingScored   RatingStatus = "scored"
	RatingUnscored RatingStatus = "unscored"
)

// Rating is what the rubric says about the answer to one probe at one compaction of
// one episode.
type Rating struct {
	Key
	ConversationID string        `json:"conversation_id"`
	Compaction     int           `json:"compaction"` // from 0
	AfterTurn      int           `json:"after_turn"`
	Context        fixtures.Hash `json:"context"`
	Probe          Probe         `json:"probe"`
	Status         RatingStatus  `json:"status"`
	// Reason says why a probe is unscored.
	Reason   string `json:"reason,omitempty"`
	Response string `json:"response,omitempty"`
	// Scores are the grader's, by criterion in the rubric's order.
	Scores []CriterionScore `json:"scores,omitempty"`
	// Dimensions are the weighted means of the scores, Overall the plain mean of those;
	// both are computed here, not by the grader.
	Dimensions map[string]float64 `json:"dimensions,omitempty"`
	Overall    *float64           `json:"overall"`
	// Disagreement says where the grader's own sums are others.
	Disagreement string `json:"disagreement,omitempty"`
	// Rubric is what the probe was made and graded by. Ratings of different rubrics are
	// not comparable.
	Rubric RubricID `json:"rubric"`
	Agent  string   `json:"agent"`
	Judge  string   `json:"judge"`
	// Input is the grader's request, kept beside the contexts, Output what came back.
	Input     fixtures.Hash `json:"input,omitempty"`
	Output    string        `json:"output,omitempty"`
	Exchanges []Exchange    `json:"exchanges,omitempty"`
}

// CriterionScore is one score with the grader's reason.
type CriterionScore struct {
	Criterion string  `json:"criterion"`
	Dimension string  `json:"dimension"`
	Score     float64 `json:"score"`
	Reasoning string  `json:"reasoning,omitempty"`
}

// RubricID names a rubric: its version and the digest of its file.
type RubricID struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// RatingKey is the identity of a rating in a run.
type RatingKey struct {
	Key
	Compaction int
	Probe      string
	Rubric     RubricID
}

// Identity returns the identity of the rating.
func (r *Rating) Identity() RatingKey { return RatingKey{r.Key, r.Compaction, r.Probe.ID, r.Rubric} }

// readRatings reads the ratings of the run's own models whose episode still counts:
// one an identity, the first that is scored, else the last. Rubrics follow one another
// in the order in which they were last used.
func (r *Record) readRatings() error {
	ratings, damaged, err := ReadJournal[*Rating](filepath.Join(r.Dir, RatingsFile))
	if err != nil {
		return err
	}
	r.Damaged += damaged
	type place struct {
		Key
		compaction int
	}
	contexts, episodes := map[place]fixtures.Hash{}, map[Key]int{}
	for i, e := range r.Episodes {
		episodes[e.Key] = i
		for k := range e.Compactions {
			contexts[place{e.Key, e.Compactions[k].Index}] = e.Compactions[k].After
		}
	}
	lineage := r.Run.Plan.Lineage
	at := map[RatingKey]int{}
	used := map[RubricID]int{}
	for i, rating := range ratings {
		if after, ok := contexts[place{rating.Key, rating.Compaction}]; !ok || after != rating.Context ||
			rating.Judge != lineage.JudgeModel || rating.Agent != lineage.AgentModel {
			continue
		}
		used[rating.Rubric] = i
		k, ok := at[rating.Identity()]
		switch {
		case !ok:
			at[rating.Identity()] = len(r.Ratings)
			r.Ratings = append(r.Ratings, rating)
		case r.Ratings[k].Status != RatingScored:
			r.Ratings[k] = rating
		}
	}
	kinds := ProbeKinds()
	slices.SortFunc(r.Ratings, func(a, b *Rating) int {
		return cmp.Or(
			cmp.Compare(used[a.Rubric], used[b.Rubric]), cmp.Compare(episodes[a.Key], episodes[b.Key]), cmp.Compare(a.Compaction, b.Compaction),
			cmp.Compare(slices.Index(kinds, a.Probe.Kind), slices.Index(kinds, b.Probe.Kind)), cmp.Compare(a.Probe.ID, b.Probe.ID),
		)
	})
	return nil
}
