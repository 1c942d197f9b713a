package pairing

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// VerdictsFile is the log of people's verdicts in a run directory.
const VerdictsFile = "verdicts.jsonl"

// Ruling is what a person found in a discordant pair. First and second are the arms in
// the order of the pair: in a nightly the reference and the candidate.
type Ruling string

// The rulings.
const (
	CandidateWorse  Ruling = "candidate_worse"
	CandidateBetter Ruling = "candidate_better"
	BothFine        Ruling = "both_fine"
	BothWrong       Ruling = "both_wrong"
	FixtureWrong    Ruling = "fixture_wrong"
	CheckWrong      Ruling = "check_wrong"
	CannotTell      Ruling = "cannot_tell"
)

// Rulings lists the rulings in the order in which they are offered.
func Rulings() []Ruling {
	return []Ruling{CandidateWorse, CandidateBetter, BothFine, BothWrong, FixtureWrong, CheckWrong, CannotTell}
}

// Severity is how bad a person found it.
type Severity string

// The severities; a verdict need not have one.
const (
	Minor    Severity = "minor"
	Major    Severity = "major"
	Critical Severity = "critical"
)

// Severities lists the severities from the mildest.
func Severities() []Severity { return []Severity{Minor, Major, Critical} }

// Evidence is what a verdict was given on. A verdict on evidence that has changed is
// stale and is not applied.
type Evidence struct {
	Fixture fixtures.Hash `json:"fixture"`
	First   fixtures.Hash `json:"first_episode"`
	Second  fixtures.Hash `json:"second_episode"`
}

// Disagreement identifies a disagreement over nights: the same fixture, parting at the
// same step in the same way, under the same two arms.
type Disagreement struct {
	Fixture    fixtures.Hash `json:"fixture"`
	Divergence fixtures.Hash `json:"divergence"`
	First      fixtures.Hash `json:"first_arm"`
	Second     fixtures.Hash `json:"second_arm"`
}

// Verdict is one line of the log. A change of mind is a further line; nothing in the log
// is ever changed.
type Verdict struct {
	// Number counts the lines of the log from 1.
	Number int `json:"number"`
	// Order puts lines of the same time in order where logs were merged: it is the number
	// that a line had where it was given, or one more than that of every line before it.
	// 0 stands for the number.
	Order int       `json:"order,omitempty"`
	At    time.Time `json:"at"`
	By    string    `json:"by"`
	Pair  string    `json:"pair"`
	// Ruling is empty where the line takes the reviewer's verdict on the pair back.
	Ruling   Ruling   `json:"ruling,omitempty"`
	Severity Severity `json:"severity,omitempty"`
	Note     string   `json:"note,omitempty"`
	// Check names the check that is wrong, where the ruling is that one is.
	Check string `json:"check,omitempty"`
	// Blind says that the reviewer gave the ruling before they saw which arm is which;
	// Seconds is how long the pair was open.
	Blind   bool    `json:"blind,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	// Adjudicates says that the verdict settles what reviewers did not agree on. Theirs
	// stay in the log.
	Adjudicates bool `json:"adjudicates,omitempty"`
	// From names the run whose verdict was taken over.
	From         string       `json:"from,omitempty"`
	Evidence     Evidence     `json:"evidence"`
	Disagreement Disagreement `json:"disagreement"`
	// Seal is the checksum of the line.
	Seal fixtures.Hash `json:"seal,omitempty"`
}

// Check says what is wrong with a verdict that somebody wants to give.
func (v *Verdict) check() error {
	switch {
	case v.Order < 0:
		return fmt.Errorf("order %d is below 0", v.Order)
	case strings.TrimSpace(v.By) == "":
		return errors.New("nobody is named: say who decides")
	case v.Ruling == "" && (v.Severity != "" || v.Check != "" || v.Adjudicates):
		return errors.New("a verdict that is taken back has no severity, no check and adjudicates nothing")
	case v.Ruling != "" && !slices.Contains(Rulings(), v.Ruling):
		return fmt.Errorf("ruling %q: want one of %v", v.Ruling, Rulings())
	case v.Severity != "" && !slices.Contains(Severities(), v.Severity):
		return fmt.Errorf("severity %q: want one of %v", v.Severity, Severities())
	case len(v.Note) > mostNote:
		return fmt.Errorf("a note of %d bytes: at most %d are kept", len(v.Note), mostNote)
	case v.Check != "" && v.Ruling != CheckWrong:
		return fmt.Errorf("a check is named, and the ruling is %s", v.Ruling)
	}
	return nil
}

const mostNote = 16 << 10

// evidence is what an entry's verdict rests on.
func evidence(record *replay.Record, p *Pair) Evidence {
	return Evidence{Fixture: p.Fixture, First: digest(record, p, p.First.Arm), Second: digest(record, p, p.Second.Arm)}
}

func digest(record *replay.Record, p *Pair, arm string) fixtures.Hash {
	e := record.Episode(replay.Key{Fixture: p.Fixture, Arm: arm, Replicate: p.Replicate})
	if e == nil {
		return ""
	}
	return e.Digest()
}

// disagreement is the identity of an entry's disagreement.
func disagreement(record *replay.Record, e *Entry) (Disagreement, error) {
	d := Disagreement{Fixture: e.Fixture, First: armDigest(record, e.First.Arm), Second: armDigest(record, e.Second.Arm)}
	// What each side did where they part; where nothing parts, what the checks said.
	how := []any{e.Cell}
	if e.Divergence != nil {
		how = append(how, e.Divergence.Turn, Describe(e.Divergence.First), Describe(e.Divergence.Second))
	} else {
		for _, c := range e.Differ {
			how = append(how, c.Check, c.First.Answer, c.Second.Answer)
		}
	}
	var err error
	d.Divergence, err = fixtures.HashJSON(how)
	return d, err
}

// armDigest identifies what makes an arm: its kind, and its compactor.
func armDigest(record *replay.Record, name string) fixtures.Hash {
	for _, a := range record.Run.Plan.Arms {
		if a.Name == name {
			return fixtures.HashBytes([]byte(string(a.Kind) + " " + string(a.Digest)))
		}
	}
	return ""
}

// Review is the queue of a run with the verdicts on it, open for more.
type Review struct {
	Record   *replay.Record
	Queue    []Entry
	Verdicts []Verdict // all lines, in their order

	dir string
	log *fixtures.Log[Verdict]
	now func() time.Time

	entries       map[string]int // place in the queue, by pair
	seen          map[seenKey]bool
	unblindedSize int64 // of the log of who saw which arms, as it was read
}

// OpenReview opens the review of the run in dir for writing; one process has it at a
// time. Queue is the run's.
func OpenReview(dir string, record *replay.Record, queue []Entry, now func() time.Time) (*Review, error) {
	log, verdicts, err := fixtures.OpenLog[Verdict](filepath.Join(dir, VerdictsFile))
	if err != nil {
		return nil, fmt.Errorf("opening the review of %s: %w", dir, err)
	}
	if err := checkLog(verdicts); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the review of %s: %s: %w", dir, VerdictsFile, err), log.Close())
	}
	r := &Review{Record: record, Queue: queue, Verdicts: verdicts, dir: dir, log: log, now: now, entries: map[string]int{}, seen: map[seenKey]bool{}}
	for i := len(queue) - 1; i >= 0; i-- {
		r.entries[queue[i].ID] = i
	}
	for _, v := range verdicts {
		r.seen[seenKey{v.By, v.Pair}] = true
	}
	if err := r.Refresh(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the review of %s: %w", dir, err), log.Close())
	}
	return r, nil
}

// ReadVerdicts reads the verdicts on the run in dir; a run without any has none.
func ReadVerdicts(dir string) ([]Verdict, error) {
	return ReadVerdictLog(filepath.Join(dir, VerdictsFile))
}

// ReadVerdictLog reads a log of verdicts; one that is not there is empty.
func ReadVerdictLog(path string) ([]Verdict, error) {
	verdicts, err := fixtures.ReadLog[Verdict](path)
	if err == nil {
		err = checkLog(verdicts)
	}
	if err != nil {
		return nil, fmt.Errorf("reading verdicts: %s: %w", path, err)
	}
	return verdicts, nil
}

// checkLog says which line of a log this program did not write so: the answer of a
// reviewed run rests on it.
func checkLog(verdicts []Verdict) error {
	for i := range verdicts {
		v := &verdicts[i]
		if v.Number != i+1 {
			return fmt.Errorf("verdict %d has the number %d: the log was changed", i+1, v.Number)
		}
		if err := v.check(); err != nil {
			return fmt.Errorf("verdict %d: %w: the log was changed", i+1, err)
		}
		if seal := v.seal(); v.Seal != "" && v.Seal != seal {
			return fmt.Errorf("verdict %d: its seal does not fit: the log was changed", i+1)
		}
	}
	return nil
}

// seal is the checksum of a line.
func (v *Verdict) seal() fixtures.Hash {
	bare := *v
	bare.Seal = ""
	hash, err := fixtures.HashJSON(bare)
	if err != nil {
		return ""
	}
	return hash
}

// Close gives the review free.
func (r *Review) Close() error { return r.log.Close() }

// ErrNoPair says that a pair is not in the queue.
var ErrNoPair = errors.New("no such pair in the queue")

// Entry finds a pair of the queue.
func (r *Review) Entry(pair string) (*Entry, error) {
	if i, ok := r.entries[pair]; ok {
		return &r.Queue[i], nil
	}
	return nil, fmt.Errorf("pair %q: %w", pair, ErrNoPair)
}

// Decide adds a verdict on a pair, which is on the disk when it returns. It fills in the
// number, the time, and what the verdict rests on. A verdict that is said to be blind is
// kept as not blind where its reviewer saw the arms of the pair before, unless it repeats
// the ruling of a blind one of theirs that stands: a note that is added later does not
// unmake that the ruling was blind.
func (r *Review) Decide(v Verdict) (Verdict, error) {
	entry, err := r.Entry(v.Pair)
	if err != nil {
		return v, err
	}
	if err := v.check(); err != nil {
		return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
	}
	if v.Ruling == CheckWrong && v.Check == "" {
		if len(entry.Differ) != 1 {
			return v, fmt.Errorf("verdict on %s: %d checks differ there: name the one that is wrong", v.Pair, len(entry.Differ))
		}
		v.Check = entry.Differ[0].Check
	}
	if v.Check != "" && !slices.ContainsFunc(entry.Differ, func(c DifferingCheck) bool { return c.Check == v.Check }) {
		return v, fmt.Errorf("verdict on %s: check %q does not differ there", v.Pair, v.Check)
	}
	if v.Blind {
		if err := r.Refresh(); err != nil {
			return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
		}
		v.Blind = !r.Seen(v.By, v.Pair) || r.repeatsBlind(&v)
	}
	v.Number, v.At = len(r.Verdicts)+1, r.now().UTC().Truncate(time.Second)
	r.putLast(&v)
	v.Evidence = evidence(r.Record, &entry.Pair)
	if v.Disagreement, err = disagreement(r.Record, entry); err != nil {
		return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
	}
	v.Seal = v.seal()
	if err := r.log.Append(v); err != nil {
		return v, err
	}
	r.Verdicts = append(r.Verdicts, v)
	r.seen[seenKey{v.By, v.Pair}] = true
	return v, nil
}

// repeatsBlind says whether a verdict has the ruling of a blind one by the same reviewer
// on the same evidence that stands.
func (r *Review) repeatsBlind(v *Verdict) bool {
	var own []Verdict
	for i := range r.Verdicts {
		if r.Verdicts[i].By == v.By && r.Verdicts[i].Pair == v.Pair {
			own = append(own, r.Verdicts[i])
		}
	}
	lines := standingLines(own)[v.By]
	if len(lines) == 0 {
		return false
	}
	old := &lines[len(lines)-1]
	entry, err := r.Entry(v.Pair)
	return err == nil && old.Blind && old.Ruling == v.Ruling && old.Evidence == evidence(r.Record, &entry.Pair)
}

// Undo takes the reviewer's last verdict that stands back, whichever pair it is on, and
// returns it. What the reviewer had said of the pair before stands again.
func (r *Review) Undo(by string) (Verdict, error) {
	byPair := map[string][]Verdict{}
	for _, v := range r.Verdicts {
		if v.By == by {
			byPair[v.Pair] = append(byPair[v.Pair], v)
		}
	}
	var last Verdict
	for _, list := range byPair {
		if lines := standingLines(list)[by]; len(lines) > 0 && (last.Number == 0 || compareLines(lines[len(lines)-1], last) > 0) {
			last = lines[len(lines)-1]
		}
	}
	if last.Number == 0 {
		return last, fmt.Errorf("%s has no verdict to take back", by)
	}
	_, err := r.Decide(Verdict{By: by, Pair: last.Pair})
	return last, err
}
