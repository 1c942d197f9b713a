package labelling

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// Options say what is exported.
type Options struct {
	// Seed hides what sample ids and groups stand for, and orders the cases. The same
	// seed gives the same bytes.
	Seed uint64
	// Frame says which pairs were given; empty means [Discordant].
	Frame Frame
	// MaxClaims bounds the claims of a case; 0 asks about every one.
	MaxClaims int
	// Stage says how much of the evidence is shown; empty means [Blind].
	Stage Stage
}

// Export makes a case of each episode of the pairs in a stage, and the key to them, which
// is the same for every stage, as is the order. The cases of a pair do not follow each
// other, unless there is no other pair. Where an output was not captured there is a sample
// and no case.
//
// It is an error if a pair has an episode or a fixture that the record does not hold, or
// if an episode stands in two pairs.
func Export(record *replay.Record, pairs []pairing.Pair, o Options) ([]Case, *Key, error) {
	header := Header{Version: Version, Run: record.Run.ID, Frame: cmp.Or(o.Frame, Discordant), Seed: o.Seed, MaxClaims: o.MaxClaims}
	m := newMaker(record, header)
	var made []made
	seen := map[replay.Key]bool{}
	for i := range pairs {
		p := &pairs[i]
		first := replay.Key{Fixture: p.Fixture, Arm: p.First.Arm, Replicate: p.Replicate}
		second := replay.Key{Fixture: p.Fixture, Arm: p.Second.Arm, Replicate: p.Replicate}
		for _, s := range []Sample{
			{Pair: p.ID, Side: First, Key: first, Against: second.Arm},
			{Pair: p.ID, Side: Second, Key: second, Against: first.Arm},
		} {
			if seen[s.Key] {
				return nil, nil, fmt.Errorf("exporting pair %s: the episode %s stands in two pairs", p.ID, s.Key)
			}
			seen[s.Key] = true
			one, err := m.make(s)
			if err != nil {
				return nil, nil, fmt.Errorf("exporting pair %s: %w", p.ID, err)
			}
			made = append(made, one)
		}
	}
	shuffle(made, o.Seed)
	cases, key := []Case{}, &Key{Header: header, Samples: []Sample{}}
	for _, one := range made {
		key.Samples = append(key.Samples, one.sample)
		if one.sample.Capture.Status != CaptureFailed {
			cases = append(cases, one.forms[cmp.Or(o.Stage, Blind)])
		}
	}
	return cases, key, nil
}

// Pairs are the pairs of a queue.
func Pairs(queue []pairing.Entry) []pairing.Pair {
	pairs := make([]pairing.Pair, len(queue))
	for i := range queue {
		pairs[i] = queue[i].Pair
	}
	return pairs
}

// made is a sample with its case in each stage; there is none where the capture failed.
type made struct {
	sample Sample
	forms  map[Stage]Case
}

// maker makes cases from a record.
type maker struct {
	record *replay.Record
	header Header
	// texts are contexts as text by their hash, prefixes recorded turns by theirs.
	texts, prefixes map[fixtures.Hash]string
}

func newMaker(record *replay.Record, header Header) *maker {
	return &maker{record: record, header: header, texts: map[fixtures.Hash]string{}, prefixes: map[fixtures.Hash]string{}}
}

// make makes the case of a sample of which pair, side and episodes are known.
func (m *maker) make(s Sample) (made, error) {
	e := m.record.Episode(s.Key)
	against := s.Key
	against.Arm = s.Against
	other := m.record.Episode(against)
	f := m.record.Fixture(s.Fixture)
	switch {
	case f == nil:
		return made{}, fmt.Errorf("the run has no fixture %s", s.Fixture)
	case e == nil:
		return made{}, fmt.Errorf("the run has no episode %s", s.Key)
	case other == nil:
		return made{}, fmt.Errorf("the run has no episode %s", against)
	}
	s.SampleID = "s-" + m.opaque("sample", s.Fixture, s.Arm, s.Replicate)
	s.Group = "g-" + m.opaque("group", f.SessionGroup())
	s.ConversationID, s.SessionGroup, s.Split, s.Sampling = f.ConversationID, f.SessionGroup(), f.Split, f.Sampling
	s.Capture, s.ClaimCoverage, s.Literals = capture(e), Exhaustive, []LiteralCheck{}
	var err error
	if s.Provenance, err = m.provenance(e, f); err != nil {
		return made{}, err
	}
	if s.Capture.Status == CaptureFailed {
		return made{sample: s}, nil
	}
	text, final := renderOutput(e.Steps)
	whole := Request{Stage: Grounded, Output: Output{text, digest(text)}}
	whole.Claims, s.ClaimCoverage = claimsOf(text, final, m.header.MaxClaims)
	blind := whole
	blind.Stage = Blind
	list, limitations, err := m.evidence(e, other)
	if err == nil {
		blind.Evidence, err = m.blindEvidence(e, other)
	}
	if errors.Is(err, errUnreadable) {
		s.Capture.Status = CaptureFailed
		s.Capture.Limitations = append(s.Capture.Limitations, err.Error())
		return made{sample: s}, nil
	}
	if err != nil {
		return made{}, err
	}
	whole.Evidence = list
	s.CaseSHA256, s.GroundingSHA256, s.Claims = blind.Digest(), whole.Digest(), len(whole.Claims)
	s.Capture.Limitations = append(s.Capture.Limitations, limitations...)
	named := m.names(&whole, s)
	s.Named = len(named) > 0
	s.Capture.Limitations = append(s.Capture.Limitations, named...)
	s.Literals = checkLiterals(f, &whole)
	one := made{sample: s, forms: map[Stage]Case{}}
	for _, request := range []Request{blind, whole} {
		one.forms[request.Stage] = Case{
			Version: Version, SampleID: s.SampleID, CaseSHA256: request.Digest(), Group: s.Group, ClaimCoverage: s.ClaimCoverage,
			ReviewState: NotReviewed, Request: request,
		}
	}
	return one, nil
}

// opaque is a keyed hash: without the seed nobody can find out what it stands for.
func (m *maker) opaque(parts ...any) string {
	mac := hmac.New(sha256.New, binary.LittleEndian.AppendUint64(nil, m.header.Seed))
	for _, part := range parts {
		fmt.Fprintf(mac, "%q,", fmt.Sprint(part))
	}
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// shuffle orders cases by the seed alone, and so that the sides of a pair do not follow
// each other where that can be.
func shuffle(list []made, seed uint64) {
	slices.SortFunc(list, func(a, b made) int { return cmp.Compare(a.sample.SampleID, b.sample.SampleID) })
	random := rand.New(rand.NewPCG(seed, 2))
	// About one order in three has no neighbours of one pair, however many pairs there
	// are from two on. With one pair there is none.
	const tries = 200
	for range tries {
		random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		if !neighbours(list) {
			return
		}
	}
}

// neighbours says whether two cases of a pair follow each other. What failed is no case.
func neighbours(list []made) bool {
	last := ""
	for i := range list {
		if list[i].sample.Capture.Status == CaptureFailed {
			continue
		}
		if list[i].sample.Pair == last {
			return true
		}
		last = list[i].sample.Pair
	}
	return false
}

// capture says how well an episode holds its output.
func capture(e *replay.Episode) Capture {
	c := Capture{Producer: e.Status, Limitations: []string{}}
	note := func(format string, args ...any) { c.Limitations = append(c.Limitations, fmt.Sprintf(format, args...)) }
	switch e.Status {
	case replay.Played:
		c.Status = Captured
	case replay.Accepted:
		c.Status = CaptureUnknown
		note("a trace that a person accepted: what was in front of who made it was not recorded")
	case replay.Faulted, replay.Void, replay.LeftOut:
		c.Status = CaptureFailed
		note("%s: %s", e.Status, e.Reason)
		return c
	default:
		c.Status = CaptureUnknown
	}
	if text, _ := renderOutput(e.Steps); text == "" {
		c.Status = CaptureFailed
		note("nothing was said and nothing called")
		return c
	}
	if e.End == replay.StepLimit {
		note("ended at the limit of steps")
	}
	missed := 0
	for i := range e.Steps {
		if e.Steps[i].Divergent() {
			missed++
		}
	}
	if missed > 0 {
		note("%d calls had no recorded result", missed)
	}
	return c
}

// provenance is what is known of where an episode's output came from.
func (m *maker) provenance(e *replay.Episode, f *fixtures.Fixture) (Provenance, error) {
	var p Provenance
	l := &m.record.Run.Plan.Lineage
	source := fmt.Sprintf("set %s %s %s, fixture %s, program %s", l.SetName, l.SetVersion, l.SetHash, f.Hash, l.Program)
	p.SourceRevision = &source
	if e.Status == replay.Accepted {
		return p, nil
	}
	if l.AgentModel != "" {
		p.Model = &l.AgentModel
	}
	p.Fingerprint = fingerprint(e)
	p.CostUSD = total(e.Exchanges, func(x *replay.Exchange) *float64 { return x.CostUSD })
	p.TimeMS = total(e.Exchanges, func(x *replay.Exchange) *float64 { return x.LatencyMS })
	return p, m.promptDigest(e, &p)
}

// fingerprint joins what the provider called the builds that answered the agent.
func fingerprint(e *replay.Episode) *string {
	var names []string
	for _, x := range e.Exchanges {
		if x.For == "agent" && x.Fingerprint != "" && !slices.Contains(names, x.Fingerprint) {
			names = append(names, x.Fingerprint)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	joined := strings.Join(names, " ")
	return &joined
}

// total sums what every exchange has; nil where one has none.
func total(exchanges []replay.Exchange, of func(*replay.Exchange) *float64) *float64 {
	sum := 0.0
	for i := range exchanges {
		x := of(&exchanges[i])
		if x == nil {
			return nil
		}
		sum += *x
	}
	if len(exchanges) == 0 {
		return nil
	}
	return &sum
}

// promptDigest covers what told the producer what to do and the compactor what to keep.
// It stays unknown where a compactor says neither.
func (m *maker) promptDigest(e *replay.Episode, p *Provenance) error {
	if e.Context == "" {
		return nil
	}
	messages, err := m.context(e.Context)
	if errors.Is(err, errUnreadable) {
		return nil // the capture says why
	}
	if err != nil {
		return err
	}
	var b strings.Builder
	for i := range messages {
		if messages[i].Role == fixtures.RoleSystem {
			fmt.Fprintf(&b, "system %s\n", digest(messages[i].Content))
		}
	}
	for _, arm := range m.record.Run.Plan.Arms {
		if arm.Name != e.Arm || arm.Kind != replay.CompactorArm {
			continue
		}
		told := string(arm.Digest)
		for i := range e.Compactions {
			told = cmp.Or(e.Compactions[i].Compactor.PromptSHA256, told)
		}
		if told == "" {
			return nil
		}
		fmt.Fprintf(&b, "compactor %s\n", told)
	}
	sum := digest(b.String())
	p.PromptDigest = &sum
	return nil
}

// names finds what would unblind a case in its exact texts, which are not altered: a
// recording may well name a model or the tool that made it.
func (m *maker) names(r *Request, s Sample) []string {
	run := &m.record.Run
	names := []string{run.ID, s.ConversationID, string(s.Fixture), run.Plan.Lineage.AgentModel, run.Plan.Lineage.JudgeModel}
	for _, arm := range run.Plan.Arms {
		if arm.Kind == replay.CompactorArm {
			names = append(names, arm.Name, arm.Compactor)
		}
	}
	slices.Sort(names)
	var found []string
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		holds := func(text string) bool { return holdsWord(text, name) }
		if holds(r.Output.Text) || slices.ContainsFunc(r.Evidence, func(e Evidence) bool { return holds(e.Text) }) {
			found = append(found, fmt.Sprintf("an exact text of the case holds the name %q", name))
		}
	}
	return found
}

// holdsWord says whether a name stands in a text by itself, not within a longer word.
func holdsWord(text, name string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], name)
		if at < 0 {
			return false
		}
		start, end := from+at, from+at+len(name)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if !inWord(before) && !inWord(after) {
			return true
		}
		from = end
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }
