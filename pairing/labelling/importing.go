package labelling

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
)

// Source is a file of ratings.
type Source struct {
	// Name is what faults call it, Kind what its raters have to be.
	Name string
	Kind Kind
	In   io.Reader
}

// Batch is what one import brought: a line of the log. It is there whole or not at all.
type Batch struct {
	Files   []BatchFile `json:"files"`
	Ratings []Rating    `json:"ratings"`
	// Seal is the checksum of the line, Prev the seal of the line before, which the first
	// has not.
	Seal fixtures.Hash `json:"seal,omitempty"`
	Prev fixtures.Hash `json:"prev,omitempty"`
}

// BatchFile is a file of a batch, without its name.
type BatchFile struct {
	Kind   Kind   `json:"kind"`
	SHA256 string `json:"sha256"`
	Lines  int    `json:"lines"`
}

// The bounds of a rating.
const (
	maxLine  = 4 << 20 // bytes
	maxRater = 64      // characters
)

var digestPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// identity is what a rater can say one thing about.
type identity struct{ sample, rater, digest string }

// Check reads the sources and holds every line against the set and against what was
// imported before. The error joins all faults, each with file and line; with one there is
// no batch.
func (s *Set) Check(before []Batch, sources ...Source) (*Batch, error) {
	c := &checker{set: s, at: map[identity]string{}, kinds: map[string]Kind{}, spelled: map[string]string{}}
	for _, b := range before {
		for i := range b.Ratings {
			c.note(&b.Ratings[i], "in an earlier import")
		}
	}
	for _, source := range sources {
		if err := c.read(source); err != nil {
			return nil, err
		}
	}
	if len(c.faults) > 0 {
		return nil, errors.Join(c.faults...)
	}
	if len(c.batch.Ratings) == 0 {
		return nil, errors.New("no ratings in the files: want a rating a line")
	}
	return &c.batch, nil
}

type checker struct {
	set *Set
	at  map[identity]string // where a rating stands
	// kinds and spelled say of raters, by [pairing.ReviewerKey], what they are and how their
	// name was written first.
	kinds   map[string]Kind
	spelled map[string]string
	batch   Batch
	faults  []error
}

// note remembers a rating. One that says that nothing was reviewed does not bar the one
// that says what was found.
func (c *checker) note(r *Rating, where string) {
	rater := pairing.ReviewerKey(r.Rater)
	c.kinds[rater] = r.Kind
	if c.spelled[rater] == "" {
		c.spelled[rater] = r.Rater
	}
	if r.ReviewState != NotReviewed {
		c.at[identity{r.SampleID, rater, r.CaseSHA256}] = where
	}
}

func (c *checker) read(source Source) error {
	hash := sha256.New()
	lines := fixtures.NewLineReader(io.TeeReader(source.In, hash))
	file := BatchFile{Kind: source.Kind}
	for {
		line, more, err := lines.NextUpTo(maxLine)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", source.Name, err)
		}
		fault := func(err error) {
			c.faults = append(c.faults, &fixtures.SyntaxError{File: source.Name, Line: lines.Line(), Err: err})
		}
		if more {
			fault(fmt.Errorf("the line is longer than %d bytes", maxLine))
			continue
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		file.Lines++
		if !utf8.Valid(line) {
			fault(errors.New("the line is no UTF-8"))
			continue
		}
		var r Rating
		if err := decodeStrict(line, &r); err != nil {
			fault(err)
			continue
		}
		bad := c.rating(&r, source.Kind)
		for _, err := range bad {
			fault(err)
		}
		if len(bad) == 0 {
			c.note(&r, fmt.Sprintf("%s:%d", source.Name, lines.Line()))
			c.batch.Ratings = append(c.batch.Ratings, r)
		}
	}
	file.SHA256 = hex.EncodeToString(hash.Sum(nil))
	c.batch.Files = append(c.batch.Files, file)
	return nil
}

// rating lists what is wrong with a rating.
func (c *checker) rating(r *Rating, want Kind) (faults []error) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if r.Kind != want {
		add("kind %q in a file of kind %q", r.Kind, want)
	}
	if name, err := pairing.ReviewerName(r.Rater); err != nil || utf8.RuneCountInString(name) > maxRater {
		add("rater: want a name of at most %d printable characters", maxRater)
	} else {
		rater := pairing.ReviewerKey(name)
		r.Rater = cmp.Or(c.spelled[rater], name)
		if kind, ok := c.kinds[rater]; ok && kind != r.Kind {
			add("rater %q is of kind %s here and of kind %s elsewhere", r.Rater, r.Kind, kind)
		}
	}
	if !digestPattern.MatchString(r.CaseSHA256) {
		add("caseSha256: want 64 hexadecimal digits in lower case")
		return faults
	}
	asked, form := c.set.Cases[r.SampleID], c.set.Of(r)
	switch gone, was := c.set.Gone[r.SampleID]; {
	case was:
		add("stale: sample %s has no case: %s", r.SampleID, gone)
		return faults
	case asked == nil:
		add("sample %q was not asked about", r.SampleID)
		return faults
	case form == nil:
		add("stale: the case of sample %s has the digest %.12s, in the grounding stage %.12s, the rating is of %.12s: label it anew from a fresh export",
			r.SampleID, asked.CaseSHA256, c.set.Grounding[r.SampleID].CaseSHA256, r.CaseSHA256)
		return faults
	}
	if where, ok := c.at[identity{r.SampleID, pairing.ReviewerKey(r.Rater), r.CaseSHA256}]; ok {
		add("repeated: %s rated sample %s already, %s", r.Rater, r.SampleID, where)
	}
	faults = append(faults, scores(r.ExpectedQuality)...)
	switch r.ReviewState {
	case Reviewed:
		return append(faults, claimRatings(r, form)...)
	case Withheld, NotReviewed:
		if len(r.Ratings) > 0 {
			add("reviewState %q with ratings: want none, or %q", r.ReviewState, Reviewed)
		}
		if r.ExpectedQuality != nil && *r.ExpectedQuality != (Quality{}) {
			add("reviewState %q with scores: want null", r.ReviewState)
		}
	default:
		add("reviewState %q: want %q, %q or %q", r.ReviewState, Reviewed, Withheld, NotReviewed)
	}
	return faults
}

func scores(q *Quality) (faults []error) {
	if q == nil {
		return nil
	}
	for _, c := range q.Criteria() {
		if c.Score != nil && (*c.Score < LowestScore || *c.Score > HighestScore) {
			faults = append(faults, fmt.Errorf("expectedQuality.%s: %d: want %d to %d, or null", c.Name, *c.Score, LowestScore, HighestScore))
		}
	}
	return faults
}

// claimRatings holds the ratings of claims against their case.
func claimRatings(r *Rating, form *Case) (faults []error) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	rated := map[string]bool{}
	for i := range r.Ratings {
		x := &r.Ratings[i]
		if form.Request.claim(x.Claim) == nil {
			add("ratings[%d]: the case has no claim %q", i, x.Claim)
			continue
		}
		if rated[x.Claim] {
			add("ratings[%d]: claim %s is rated twice", i, x.Claim)
		}
		rated[x.Claim] = true
		if x.Truth != True && x.Truth != False && x.Truth != TruthUnsupported {
			add("ratings[%d]: truth %q: want true, false or unsupported", i, x.Truth)
		}
		if x.Grounding != Supported && x.Grounding != GroundingUnsupported && x.Grounding != GroundingUnknown {
			add("ratings[%d]: grounding %q: want supported, unsupported or unknown", i, x.Grounding)
		}
		seen := false
		for k, cited := range x.Evidence {
			e := form.Request.evidence(cited.ID)
			if e == nil {
				add("ratings[%d].evidence[%d]: the case has no evidence %q", i, k, cited.ID)
				continue
			}
			if err := checkSpan(e.Text, cited.Start, cited.End); err != nil {
				add("ratings[%d].evidence[%d]: %w", i, k, err)
			}
			seen = seen || e.SeenByProducer != nil && *e.SeenByProducer
		}
		if x.Grounding == Supported && !seen {
			add("ratings[%d]: grounding supported wants a citation of evidence with seen_by_producer true", i)
		}
	}
	var missing []string
	for _, c := range form.Request.Claims {
		if !rated[c.ID] {
			missing = append(missing, c.ID)
		}
	}
	if len(missing) > 0 {
		add("incomplete: no rating of %s", strings.Join(missing, ", "))
	}
	return faults
}

// checkSpan says whether a span lies in a text and cuts no character.
func checkSpan(text string, start, end int) error {
	if start < 0 || end <= start || end > len(text) {
		return fmt.Errorf("span %d to %d is not within 0 to %d bytes", start, end, len(text))
	}
	if !utf8.RuneStart(text[start]) || end < len(text) && !utf8.RuneStart(text[end]) {
		return fmt.Errorf("span %d to %d cuts a character: offsets are in bytes of UTF-8", start, end)
	}
	return nil
}
