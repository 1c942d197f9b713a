package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/annotate"
	"github.com/doubletake-dev/doubletake/fixtures/recording"
	"github.com/doubletake-dev/doubletake/fixtures/redact"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// mostAsked is how many items init puts before a person.
const mostAsked = 10

// proposedBy is who made the items of a fixture that no person has confirmed.
const proposedBy = "doubletake init"

// unconfirmed is the note of a fixture whose items nobody has confirmed.
type unconfirmed struct {
	ProposedBy string `json:"proposed_by"`
	// Items are the ids of those that are proposals.
	Items []string `json:"unconfirmed"`
}

// proposedAlone says that all items of a fixture are proposals that nobody has confirmed.
func proposedAlone(f *fixtures.Fixture) bool {
	var note unconfirmed
	return json.Unmarshal(f.Note, &note) == nil && note.ProposedBy == proposedBy && len(note.Items) == len(f.MustSurvive)
}

// session makes the set of one session of the user's agent.
func (s *suite) session(file string) error {
	whole, err := s.imported(file)
	if err != nil {
		return err
	}
	z, err := s.size()
	if err != nil {
		return err
	}
	rec := z.cut(whole)
	if turns := rec.LastTurn(); turns < whole.LastTurn() {
		s.said = append(s.said, fmt.Sprintf("the first %s taken: more does not fit a window of %s, in which the reference keeps all of it", report.Plural(turns, "turn"), report.Plural(replay.DefaultWindow, "token")))
	}
	var data bytes.Buffer
	if err := fixtures.WriteRecording(&data, rec); err != nil {
		return fmt.Errorf("keeping the session: %w", err)
	}
	id := rec.Header.ID
	inSet := "recordings/" + id + ".jsonl"
	base := fixtures.Draft(id, inSet, rec)
	base.Version, base.Split = fixtures.FixtureVersion, "regression"
	if err := z.points(base, rec); err != nil {
		return err
	}
	if err := s.file(starterSet+"/"+inSet, data.Bytes(), 0o644); err != nil {
		return err
	}
	f, err := s.items(base, rec)
	if err != nil {
		return err
	}
	text, err := fixtures.MarshalFixture(f)
	if err != nil {
		return err
	}
	if err := f.Verify(rec); err != nil {
		return fmt.Errorf("drafting a fixture of %s: %w", file, err)
	}
	return s.file(starterSet+"/"+id+".json", text, 0o644)
}

// imported reads the longest conversation of a session file, redacted unless told not to.
func (s *suite) imported(file string) (*fixtures.Recording, error) {
	redactor, err := redact.New()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "doubletake-init-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the session as it is read: %w", err)
	}
	defer os.RemoveAll(dir)
	opts := recording.Options{OutDir: dir, Redact: redactor.Record, Learn: redactor.Learn}
	if s.cli.Bool("no-redact") {
		opts.Redact, opts.Learn = nil, nil
	}
	summary, err := recording.Import(s.cli.Context, []string{file}, opts)
	if err != nil {
		return nil, err
	}
	var longest *recording.Written
	var why []string
	for i := range summary.Files {
		f := &summary.Files[i]
		if text := f.Skipped + f.Error; text != "" && f.File == file {
			why = append(why, text)
		} else if text != "" {
			why = append(why, f.File+": "+text)
		}
		for k := range f.Recordings {
			if w := &f.Recordings[k]; longest == nil || w.Turns > longest.Turns {
				longest = w
			}
		}
	}
	if len(summary.Files) == 0 {
		return nil, usageError("no conversation was read from %s: no file lies there", file)
	}
	if longest == nil {
		return nil, usageError("no conversation was read from %s: %s", file, strings.Join(why, "; "))
	}
	if summary.Recordings > 1 {
		s.said = append(s.said, fmt.Sprintf("%s holds %s: the longest was taken, doubletake import takes all", file, report.Plural(summary.Recordings, "conversation")))
	}
	if info, err := os.Stat(longest.File); err == nil && info.Size() > mostDrafted {
		return nil, usageError("the conversation has %d MB: more than a fixture can be played from; take a shorter one", info.Size()>>20)
	}
	rec, err := fixtures.ReadRecordingFile(longest.File)
	if err != nil {
		return nil, err
	}
	s.said = append(s.said, fmt.Sprintf("%s: %s, %s, %s", rec.Header.ID, report.Plural(longest.Turns, "turn"), report.Plural(longest.Calls, "call"), report.Plural(longest.Compactions, "recorded compaction")))
	if counts := redactor.Counts(); opts.Redact != nil && len(counts) > 0 {
		total := 0
		for _, n := range counts {
			total += n
		}
		s.said = append(s.said, fmt.Sprintf("credentials, addresses and folder names replaced: %d; read %s before you share it", total, s.path(starterSet+"/recordings/"+rec.Header.ID+".jsonl")))
	}
	return rec, nil
}

// size counts the tokens of conversations and knows how many the model may be given.
type size struct {
	counter replay.Counter
	room    int
}

func (s *suite) size() (*size, error) {
	counter, err := model.NewCounter(s.cli.String("model"))
	if err != nil {
		return nil, err
	}
	return &size{counter, replay.DefaultWindow * 9 / 10}, nil
}

// cut leaves the end of a conversation out that does not fit the window: the reference
// keeps all of it before it, from the first message to the last.
func (z *size) cut(rec *fixtures.Recording) *fixtures.Recording {
	used, last := 0, 0
	for i := range rec.Messages {
		m := &rec.Messages[i]
		if used += z.counter.Count(*m); used > z.room {
			break
		}
		if i+1 == len(rec.Messages) {
			return rec
		}
		if rec.Messages[i+1].Turn > m.Turn {
			last = m.Turn
		}
	}
	short := *rec
	short.Messages = rec.Prefix(last)
	short.Compactions = nil
	for _, c := range rec.Compactions {
		if c.AfterTurn < last {
			short.Compactions = append(short.Compactions, c)
		}
	}
	return &short
}

// points settles where the fixture is compacted: as recorded, if a compactor has something
// to leave out there; else where it has.
func (z *size) points(f *fixtures.Fixture, rec *fixtures.Recording) error {
	last := rec.LastTurn()
	recorded := rec.CompactionPoints()
	for i := len(recorded) - 1; i >= 0; i-- {
		if recorded[i] < last {
			if z.worthAt(rec, recorded[i]) {
				return nil // as recorded
			}
			break
		}
	}
	point := annotate.ForkPoint(rec)
	if point == 0 || !z.worthAt(rec, point) {
		point = z.earlier(rec)
	}
	if point == 0 {
		return usageError("the session %s has %s and no place to compact it: after some messages of user and agent that are most of the context, with something left to do; take a longer one", f.ConversationID, report.Plural(last, "turn"))
	}
	f.CompactAfter, f.CompactionsExpected = []int{point}, 1
	return nil
}

// leastSpoken is how many messages make a conversation that there is something to leave
// out of.
const leastSpoken = 4

// load is what stands in a context.
type load struct{ system, all, spoken int }

func (z *size) add(l *load, m *fixtures.Message) {
	n := z.counter.Count(*m)
	l.all += n
	if m.Role == fixtures.RoleSystem {
		l.system += n
	} else {
		l.spoken++
	}
}

// worth says whether a compactor has something to leave out: it is to halve the context,
// and the system's messages stay.
func (z *size) worth(l load) bool {
	return l.spoken >= leastSpoken && l.all <= z.room && l.all > 2*l.system
}

// worthAt is worth of what stands before the agent after a turn.
func (z *size) worthAt(rec *fixtures.Recording, turn int) bool {
	var l load
	for _, m := range rec.Prefix(turn) {
		z.add(&l, &m)
	}
	return z.worth(l)
}

// earlier is the turn of the agent nearest to two thirds of the way, with turns behind it,
// that is worth it; 0 where there is none.
func (z *size) earlier(rec *fixtures.Recording) int {
	var l load
	best, want, last := 0, rec.LastTurn()*2/3, rec.LastTurn()
	distance := func(turn int) int { return max(turn-want, want-turn) }
	for i := range rec.Messages {
		m := &rec.Messages[i]
		z.add(&l, m)
		ends := i+1 < len(rec.Messages) && rec.Messages[i+1].Turn > m.Turn
		if !ends || m.Turn >= last || m.Role == fixtures.RoleUser || !z.worth(l) {
			continue
		}
		if best == 0 || distance(m.Turn) < distance(best) {
			best = m.Turn
		}
	}
	return best
}

// items proposes items, and has them confirmed or marks them as proposals.
func (s *suite) items(base *fixtures.Fixture, rec *fixtures.Recording) (*fixtures.Fixture, error) {
	last := 0
	for _, point := range append(rec.CompactionPoints(), base.CompactAfter...) {
		if len(base.CompactAfter) == 0 || point == base.CompactAfter[0] {
			last = max(last, point)
		}
	}
	var proposals []annotate.Proposal
	for _, p := range annotate.Proposals(rec, annotate.Options{}) { // the highest score first
		if p.Item.Turn <= last && len(proposals) < mostAsked {
			proposals = append(proposals, p)
		}
	}
	path := s.path(starterSet + "/recordings/" + base.ConversationID + ".jsonl")
	if s.cli.Bool("yes") {
		return s.proposed(base, rec, proposals, path)
	}
	before := len(s.made)
	log := s.path(starterSet + "/" + annotationsDir + "/" + base.ConversationID + ".jsonl")
	if err := s.folder(filepath.Dir(log)); err != nil {
		return nil, err
	}
	session, err := annotate.OpenSession(log, rec, proposals, annotator(""), time.Now)
	if err != nil {
		return nil, err
	}
	s.made = append(s.made, log+lockSuffix, log)
	err = s.ask(session, rec)
	if errors.Is(err, errNobody) {
		fmt.Fprintln(s.cli.App.ErrWriter, "nobody answers here (the input is at its end): going on as with --yes")
		if err := errors.Join(session.Close(), s.undo(before)); err != nil {
			return nil, err
		}
		return s.proposed(base, rec, proposals, path)
	}
	if err := errors.Join(err, session.Close()); err != nil {
		return nil, err
	}
	f := session.Fixture(*base)
	f.Title = ""
	s.said = append(s.said, fmt.Sprintf("%s and %s, each confirmed by you", report.Plural(len(f.MustSurvive), "item"), report.Plural(len(f.Checks), "check")))
	s.next = append(s.next, fmt.Sprintf("doubletake fixtures annotate %s   # goes on with what else was found", shellPath(path)))
	return f, nil
}

// errNobody is where the input is at its end before the first answer.
var errNobody = errors.New("nobody answers")

// ask puts one step after the other before the person, until all is decided or enough is
// said. It is errNobody where there is no terminal, and no answer at all.
func (s *suite) ask(session *annotate.Session, rec *fixtures.Recording) error {
	a := annotation{out: report.Printable(s.cli.App.ErrWriter), rec: rec, session: session}
	answered := s.keys.terminal >= 0
	for step := session.Next(); step != nil; step = session.Next() {
		a.show(step, 1)
		key, err := s.keys.one("does it bind later turns? [y]es [n]o [q]uit asking: ")
		if errors.Is(err, io.EOF) {
			if !answered {
				return errNobody
			}
			return nil
		}
		if err != nil {
			return err
		}
		answered = true
		switch key {
		case 'y', 'Y':
			err = session.Confirm(step, step.Proposal.Item)
		case 'n', 'N':
			err = session.Reject(step)
		case 'q', 3, 4: // also Ctrl-C and Ctrl-D
			return nil
		default:
			fmt.Fprintf(a.out, "%q is none of the keys\n", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// proposed takes the proposals as they are, and marks them as such. Checks are left to a
// person: the agent is held to doing as the reference does.
func (s *suite) proposed(base *fixtures.Fixture, rec *fixtures.Recording, proposals []annotate.Proposal, path string) (*fixtures.Fixture, error) {
	dir, err := os.MkdirTemp("", "doubletake-init-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the proposals: %w", err)
	}
	defer os.RemoveAll(dir)
	for i := range proposals {
		proposals[i].Checks = nil
	}
	session, err := annotate.OpenSession(filepath.Join(dir, "log"), rec, proposals, proposedBy, time.Now)
	if err != nil {
		return nil, err
	}
	for step := session.Next(); step != nil && err == nil; step = session.Next() {
		if err = session.Confirm(step, step.Proposal.Item); err != nil {
			err = session.Reject(step) // it does not hold: no proposal
		}
	}
	if err := errors.Join(err, session.Close()); err != nil {
		return nil, err
	}
	f := session.Fixture(*base)
	note := unconfirmed{ProposedBy: proposedBy, Items: []string{}}
	for i := range f.MustSurvive {
		note.Items = append(note.Items, f.MustSurvive[i].ID)
	}
	f.Title = fmt.Sprintf("drafted from %s; %s proposed, none confirmed", f.ConversationID, report.Plural(len(note.Items), "item"))
	if f.Note, err = json.Marshal(note); err != nil {
		return nil, err
	}
	if len(note.Items) == 0 {
		s.said = append(s.said, "nothing was found that binds later turns: without items a night only asks whether the agent goes on as it does with the whole context")
		s.next = append(s.next, fmt.Sprintf("add must_survive items to %s by hand, or take a session with more instructions in it", shellPath(s.path(starterSet+"/"+base.ConversationID+".json"))))
		return f, nil
	}
	s.said = append(s.said, fmt.Sprintf("items %d: all are proposals, which nobody has confirmed", len(note.Items)))
	s.next = append(s.next, fmt.Sprintf("doubletake fixtures annotate %s   # confirm or reject them", shellPath(path)))
	return f, nil
}
