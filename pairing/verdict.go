package pairing

import (
	"cmp"
	"encoding/json"
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
	Order int `json:"order,omitempty"`
	// Run is the id of the run that the line is of. Lines of earlier versions have none,
	// and no Prev.
	Run string    `json:"run,omitempty"`
	At  time.Time `json:"at"`
	// By is the reviewer, see [ReviewerName].
	By   string `json:"by"`
	Pair string `json:"pair"`
	// Ruling is empty where the line takes the reviewer's verdict on the pair back.
	Ruling   Ruling   `json:"ruling,omitempty"`
	Severity Severity `json:"severity,omitempty"`
	Note     string   `json:"note,omitempty"`
	// Checks name the checks that are wrong, where the ruling is that some are.
	Checks []string `json:"checks,omitempty"`
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
	// Seal is the checksum of what the line says. It is the same in whichever log the line
	// stands: it covers the order in place of the number, and not Prev.
	Seal fixtures.Hash `json:"seal,omitempty"`
	// Prev is the seal of the line before in this log; empty on the first.
	Prev fixtures.Hash `json:"prev,omitempty"`
}

// UnmarshalJSON also reads lines of earlier versions, which name one check.
func (v *Verdict) UnmarshalJSON(data []byte) error {
	type plain Verdict
	line := struct {
		*plain
		Check string `json:"check"`
	}{plain: (*plain)(v)}
	if err := json.Unmarshal(data, &line); err != nil {
		return err
	}
	if line.Check != "" && len(v.Checks) == 0 {
		v.Checks = []string{line.Check}
	}
	return nil
}

// check says what is wrong with a verdict that somebody wants to give.
func (v *Verdict) check() error {
	switch {
	case v.Order < 0:
		return fmt.Errorf("order %d is below 0", v.Order)
	case strings.TrimSpace(v.By) == "":
		return errNobody
	case v.Ruling == "" && (v.Severity != "" || len(v.Checks) > 0 || v.Adjudicates):
		return errors.New("a verdict that is taken back has no severity, no check and adjudicates nothing")
	case v.Ruling != "" && !slices.Contains(Rulings(), v.Ruling):
		return fmt.Errorf("ruling %.40q: want one of %v", v.Ruling, Rulings())
	case v.Severity != "" && !slices.Contains(Severities(), v.Severity):
		return fmt.Errorf("severity %.40q: want one of %v", v.Severity, Severities())
	case len(v.Note) > mostNote:
		return fmt.Errorf("a note of %d bytes: at most %d are kept", len(v.Note), mostNote)
	case len(v.Checks) > 0 && v.Ruling != CheckWrong:
		return fmt.Errorf("a check is named, and the ruling is %s", v.Ruling)
	}
	for i, check := range v.Checks {
		if check == "" || slices.Contains(v.Checks[:i], check) {
			return fmt.Errorf("check %.60q: want each wrong check once, by its id", check)
		}
	}
	if v.Run != "" { // earlier versions took names as they were typed
		if name, err := ReviewerName(v.By); err != nil || name != v.By {
			return fmt.Errorf("%.40q is not a reviewer's name as it is kept: %w", v.By, cmp.Or(err, errBadName))
		}
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

	head          head           // as it was last noted
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
	if err := errors.Join(checkLog(verdicts), OfRun(verdicts, record.Run.ID)); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the review of %s: %s: %w", dir, VerdictsFile, err), log.Close())
	}
	r := &Review{Record: record, Queue: queue, Verdicts: verdicts, dir: dir, log: log, now: now, entries: map[string]int{}, seen: map[seenKey]bool{}}
	for i := len(queue) - 1; i >= 0; i-- {
		r.entries[queue[i].ID] = i
	}
	for _, v := range verdicts {
		r.seen[seenBy(v.By, v.Pair)] = true
	}
	if r.head, err = readHead(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the review of %s: %w", dir, err), log.Close())
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

// TornVerdicts says in a sentence that the last line of the verdicts on the run in dir is
// torn, with what to do; it is empty where it is not.
func TornVerdicts(dir string) (string, error) {
	path := filepath.Join(dir, VerdictsFile)
	n, err := fixtures.TornTail(path)
	if n == 0 || err != nil {
		return "", err
	}
	return fmt.Sprintf("the last line of %s is torn after %d bytes and not counted: decide that pair again", path, n), nil
}

// checkLog says which line of a log this program did not write so: the answer of a
// reviewed run rests on it. A line that lies is found by its seal, one that was taken out
// or put in by the seal of the line before. Whole lines that were taken off the end are
// for [CutVerdicts].
func checkLog(verdicts []Verdict) error {
	for i := range verdicts {
		v := &verdicts[i]
		if v.Number != i+1 {
			return fmt.Errorf("verdict %d has the number %d: %w", i+1, v.Number, errChanged)
		}
		if err := v.check(); err != nil {
			return fmt.Errorf("verdict %d: %w: %w", i+1, err, errChanged)
		}
		if v.Seal == "" {
			return fmt.Errorf("verdict %d has no seal, and nothing says that nobody changed it: %w", i+1, errChanged)
		}
		if v.Seal != v.seal() {
			return fmt.Errorf("verdict %d: its seal does not fit: %w", i+1, errChanged)
		}
		if prev := before(verdicts[:i], v); v.Prev != prev {
			return fmt.Errorf("verdict %d does not follow the line before it: %w", i+1, errChanged)
		}
		if v.Run == "" && i > 0 && verdicts[i-1].Run != "" {
			return fmt.Errorf("verdict %d is of an earlier version than the line before it: %w", i+1, errChanged)
		}
	}
	return nil
}

var errChanged = errors.New("the log was changed: put it back from a copy, or take it away and decide again")

// before is the seal of the last line before one. Lines of earlier versions hold none.
func before(lines []Verdict, v *Verdict) fixtures.Hash {
	if len(lines) == 0 || v.Run == "" {
		return ""
	}
	return lines[len(lines)-1].Seal
}

// OfRun says which line is not of the run with the id. Lines of earlier versions do not
// say of which run they are, and pass.
func OfRun(verdicts []Verdict, run string) error {
	for i := range verdicts {
		if v := &verdicts[i]; v.Run != "" && v.Run != run {
			return fmt.Errorf("verdict %d is of the run %s, this is %s: %w", v.Number, v.Run, run, ErrOtherRun)
		}
	}
	return nil
}

// ErrOtherRun says that verdicts are not of the run to which they were to be added.
var ErrOtherRun = errors.New("verdicts of another run decide nothing here; those of an earlier night beside it are remembered")

// seal is the checksum of what a line says.
func (v *Verdict) seal() fixtures.Hash {
	bare := *v
	bare.Seal, bare.Prev = "", ""
	var line any = &bare
	if v.Run == "" {
		line = earlier(bare)
	} else {
		bare.Number, bare.Order = v.order(), 0
	}
	hash, err := fixtures.HashJSON(line)
	if err != nil {
		return ""
	}
	return hash
}

// earlier is a line as earlier versions wrote it, with one check.
func earlier(v Verdict) any {
	line := struct {
		Verdict
		Check string `json:"check,omitempty"`
	}{Verdict: v}
	if len(v.Checks) == 1 {
		line.Check, line.Checks = v.Checks[0], nil
	}
	return &line
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
	return nil, fmt.Errorf("pair %.60q: %w", pair, ErrNoPair)
}

// Decide adds a verdict on a pair, which is on the disk when it returns. It fills in the
// number, the run, the time, and what the verdict rests on; its reviewer is spelled as in
// their first line. Who says that checks are wrong and names none means all that differ. A
// verdict that is said to be blind is kept as not blind where its reviewer saw the arms of
// the pair before, unless it repeats the ruling of a blind one of theirs that stands: a
// note that is added later does not unmake that the ruling was blind. It is an error to
// settle what is not disputed.
func (r *Review) Decide(v Verdict) (Verdict, error) {
	entry, err := r.Entry(v.Pair)
	if err != nil {
		return v, err
	}
	if v.By, err = ReviewerName(v.By); err != nil {
		return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
	}
	v.By, v.Run = r.spelled(v.By), r.Record.Run.ID
	if err := v.check(); err != nil {
		return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
	}
	if err := v.name(entry); err != nil {
		return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
	}
	v.Evidence = evidence(r.Record, &entry.Pair)
	if v.Adjudicates {
		if err := r.disputed(&v); err != nil {
			return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
		}
	}
	if v.Blind {
		if err := r.Refresh(); err != nil {
			return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
		}
		v.Blind = !r.Seen(v.By, v.Pair) || r.repeatsBlind(&v)
	}
	v.Number, v.At = len(r.Verdicts)+1, r.now().UTC().Truncate(time.Second)
	r.putLast(&v)
	if v.Disagreement, err = disagreement(r.Record, entry); err != nil {
		return v, fmt.Errorf("verdict on %s: %w", v.Pair, err)
	}
	v.Seal, v.Prev = v.seal(), before(r.Verdicts, &v)
	if err := r.log.Append(v); err != nil {
		return v, err
	}
	r.Verdicts = append(r.Verdicts, v)
	r.seen[seenBy(v.By, v.Pair)] = true
	return v, r.noteHead()
}

// name fills in which checks are wrong. Only those that differ can be: of the others the
// verdict would change what nobody looked at.
func (v *Verdict) name(entry *Entry) error {
	if v.Ruling != CheckWrong {
		return nil
	}
	var differ []string
	for i := range entry.Differ {
		differ = append(differ, entry.Differ[i].Check)
	}
	for _, check := range v.Checks {
		if !slices.Contains(differ, check) {
			return fmt.Errorf("check %.60q does not differ there: want one of %s", check, strings.Join(differ, ", "))
		}
	}
	if len(v.Checks) == 0 {
		v.Checks = differ
	}
	if len(v.Checks) == 0 {
		return errors.New("no check differs there")
	}
	return nil
}

// spelled is a reviewer's name as in the first line of theirs.
func (r *Review) spelled(name string) string {
	for i := range r.Verdicts {
		if SameReviewer(r.Verdicts[i].By, name) {
			return r.Verdicts[i].By
		}
	}
	return name
}

// own are the lines of a reviewer on a pair.
func (r *Review) own(by, pair string) []Verdict {
	var own []Verdict
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Pair == pair && SameReviewer(v.By, by) {
			own = append(own, *v)
		}
	}
	return own
}

// disputed says why a verdict has nothing to settle.
func (r *Review) disputed(v *Verdict) error {
	var on []Verdict
	for i := range r.Verdicts {
		if r.Verdicts[i].Pair == v.Pair {
			on = append(on, r.Verdicts[i])
		}
	}
	said := opinions(standingLines(on), v.Evidence)
	switch {
	case len(said) < 2:
		return fmt.Errorf("nothing is disputed that could be settled: %d of the two that it takes have ruled; rule without settling", len(said))
	case !differ(said):
		return fmt.Errorf("nothing is disputed that could be settled: all who have ruled say %s; rule without settling", said[0].Ruling)
	}
	return nil
}

// repeatsBlind says whether a verdict has the ruling of a blind one by the same reviewer
// on the same evidence that stands.
func (r *Review) repeatsBlind(v *Verdict) bool {
	lines := standingLines(r.own(v.By, v.Pair))[ReviewerKey(v.By)]
	if len(lines) == 0 {
		return false
	}
	old := &lines[len(lines)-1]
	entry, err := r.Entry(v.Pair)
	return err == nil && old.Blind && old.Ruling == v.Ruling && old.Evidence == evidence(r.Record, &entry.Pair)
}

// Undo takes the reviewer's last verdict that stands back, whichever pair it is on, and
// returns it. A note or a severity that was added to a verdict goes with it. What the
// reviewer had ruled on the pair before stands again.
func (r *Review) Undo(by string) (Verdict, error) {
	byPair := map[string][]Verdict{}
	for _, v := range r.Verdicts {
		if SameReviewer(v.By, by) {
			byPair[v.Pair] = append(byPair[v.Pair], v)
		}
	}
	var last Verdict
	var standing []Verdict // of the reviewer on its pair
	for _, list := range byPair {
		if lines := standingLines(list)[ReviewerKey(by)]; len(lines) > 0 && (last.Number == 0 || compareLines(lines[len(lines)-1], last) > 0) {
			last, standing = lines[len(lines)-1], lines
		}
	}
	if last.Number == 0 {
		return last, fmt.Errorf("%s has no verdict to take back", by)
	}
	for i := len(standing) - 1; i >= 0 && standing[i].rulesAs(&last); i-- {
		if _, err := r.Decide(Verdict{By: by, Pair: last.Pair}); err != nil {
			return last, err
		}
	}
	return last, nil
}

// rulesAs says whether two lines are one verdict, but for its severity and note.
func (v *Verdict) rulesAs(other *Verdict) bool {
	return v.Ruling == other.Ruling && slices.Equal(v.Checks, other.Checks) && v.Adjudicates == other.Adjudicates && v.From == other.From && v.Evidence == other.Evidence
}
