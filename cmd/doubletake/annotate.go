package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/annotate"
)

// annotationsDir is where a set keeps who decided what; a manifest does not cover hidden
// files.
const annotationsDir = ".annotations"

func fixturesAnnotate() *cli.Command {
	return &cli.Command{
		Name:      "annotate",
		Usage:     "make a fixture of a recording: confirm or reject what seems to bind later turns",
		ArgsUsage: "RECORDING",
		Description: `Shows one candidate at a time with its context. Keys: y confirm, n reject, e edit, a add
an item by its text, c more context, u undo, w write the fixture now, q leave; the same
command goes on where it was left. Checks drafted from confirmed items are put the same
way; --page puts all of it on a local web page. Every decision is kept in .annotations/ beside the fixture, with who and when.

RECORDING is a canonical recording; doubletake import makes them of other tools' files.

   doubletake import session.jsonl --out mine
   doubletake fixtures annotate mine/session.jsonl
   doubletake fixtures annotate mine/session.jsonl --page`,
		Flags: append([]cli.Flag{
			stringFlag("set", "the set `DIR` that the fixture goes to; default: where the recording lies"),
			stringFlag("by", "who decides, a `NAME`; default: git's user, else the system's"),
			&cli.IntSliceFlag{Name: "compact-after", Usage: "compact after `TURN` (repeatable); default: as recorded, else two thirds of the way", EnvVars: twin("compact-after")},
			&cli.Float64Flag{Name: "min-score", Usage: "show candidates from this `SCORE` on, 0 to 1", DefaultText: fmt.Sprint(annotate.DefaultMinScore), EnvVars: twin("min-score")},
			&cli.BoolFlag{Name: "page", Usage: "decide on a local web page in place of the terminal", EnvVars: twin("page")},
		}, pageFlags()...),
		Action: annotateRecording,
	}
}

func annotateRecording(c *cli.Context) error {
	if c.NArg() != 1 {
		return usageError("annotate wants one recording, have %d (doubletake fixtures annotate --help)", c.NArg())
	}
	a := annotation{out: report.Printable(c.App.Writer), path: c.Args().First()}
	if err := a.load(c); err != nil {
		return err
	}
	session, err := annotate.OpenSession(a.log(), a.rec, a.proposals(c), annotator(c.String("by")), time.Now)
	if err != nil {
		return err
	}
	a.session = session
	if c.Bool("page") {
		return errors.Join(a.serve(c), session.Close())
	}
	a.keys = newKeys(c.App.Reader, a.out)
	defer a.keys.close()
	return errors.Join(a.run(), session.Close())
}

// annotation is one session at the terminal.
type annotation struct {
	out     io.Writer
	path    string // of the recording
	dir     string // of the set
	base    *fixtures.Fixture
	rec     *fixtures.Recording
	session *annotate.Session
	keys    *keys
}

func (a *annotation) load(c *cli.Context) error {
	file, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("annotating: %w", err)
	}
	defer file.Close()
	if a.rec, err = fixtures.ReadRecording(file, a.path); err != nil {
		return fmt.Errorf("annotating: %w; is it a canonical recording? doubletake import makes them", err)
	}
	a.dir = c.String("set")
	if a.dir == "" {
		if a.dir = filepath.Dir(a.path); filepath.Base(a.dir) == "recordings" {
			a.dir = filepath.Dir(a.dir)
		}
	}
	inSet, err := filepath.Rel(a.dir, a.path)
	if err != nil || strings.HasPrefix(inSet, "..") {
		return usageError("%s lies outside of the set %s: move it there first", a.path, a.dir)
	}
	id := strings.TrimSuffix(filepath.Base(a.path), filepath.Ext(a.path))
	a.base = fixtures.Draft(id, filepath.ToSlash(inSet), a.rec)
	a.base.Title = ""
	if err := a.former(id); err != nil {
		return err
	}
	return a.points(c.IntSlice("compact-after"))
}

// former takes over what stands in the fixture already, but for its items: those are the
// log's.
func (a *annotation) former(id string) error {
	path := filepath.Join(a.dir, id+".json")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("annotating: %w", err)
	}
	f, err := fixtures.ParseFixture(data, path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(a.log()); errors.Is(err, fs.ErrNotExist) && len(f.MustSurvive) > 0 && !proposedAlone(f) {
		return usageError("%s has %s that were not confirmed here: edit it by hand, or move it away", path, report.Plural(len(f.MustSurvive), "item"))
	}
	if strings.HasSuffix(f.Title, fixtures.NoItemsYet) {
		f.Title = "" // it has some now
	}
	if proposedAlone(f) {
		f.Title, f.Note = "", nil // its items are put before the person now
	}
	a.base = f
	return nil
}

// points decides after which turns the fixture is compacted.
func (a *annotation) points(named []int) error {
	switch {
	case len(named) > 0:
		a.base.CompactAfter = named
	case len(a.base.CompactAfter) > 0 || len(a.rec.Compactions) > 0:
	default:
		if point := annotate.ForkPoint(a.rec); point > 0 {
			a.base.CompactAfter = []int{point}
		}
	}
	if n := len(a.base.CompactAfter); n > 0 {
		a.base.CompactionsExpected = n
	}
	lone := *a.base
	lone.MustSurvive, lone.Checks = nil, nil
	return lone.Verify(a.rec)
}

func (a *annotation) log() string {
	return filepath.Join(a.dir, annotationsDir, a.base.ConversationID+".jsonl")
}

func (a *annotation) proposals(c *cli.Context) []annotate.Proposal {
	return annotate.Proposals(a.rec, annotate.Options{MinScore: c.Float64("min-score")})
}

// annotator is who decides.
func annotator(name string) string {
	if name != "" {
		return name
	}
	if out, err := exec.Command("git", "config", "user.name").Output(); err == nil {
		if name := strings.TrimSpace(string(out)); name != "" {
			return name
		}
	}
	if u, err := user.Current(); err == nil {
		return cmp.Or(u.Name, u.Username)
	}
	return ""
}

// run puts one step after the other before the person.
func (a *annotation) run() error {
	context := 1
	for {
		step := a.session.Next()
		if step == nil {
			return a.write("all is decided")
		}
		a.show(step, context)
		context = 1
		key, err := a.keys.one("[y]es [n]o [e]dit [a]dd [c]ontext [u]ndo [w]rite [q]uit? ")
		if errors.Is(err, io.EOF) {
			key = 'q'
		} else if err != nil {
			return err
		}
		switch key {
		case 'y', '\r', '\n':
			err = a.session.Confirm(step, step.Proposal.Item)
		case 'n':
			err = a.session.Reject(step)
		case 'e':
			err = a.edit(step)
		case 'a':
			err = a.add()
		case 'c':
			context = 4
		case 'u':
			err = a.session.Undo()
		case 'w':
			return a.write("written before all was decided; the same command goes on")
		case 'q', 3, 4: // also Ctrl-C and Ctrl-D
			n := a.session.Counts()
			fmt.Fprintf(a.out, "\nleft with %d confirmed and %d rejected of %d; the same command goes on\n", n.Confirmed, n.Rejected, n.Proposed)
			return nil
		default:
			fmt.Fprintf(a.out, "%q is none of the keys\n", key)
		}
		if err != nil {
			fmt.Fprintf(a.out, "not done: %v\n", err)
		}
	}
}

// show prints a step with the turns before it.
func (a *annotation) show(step *annotate.Step, turns int) {
	item := &step.Proposal.Item
	fmt.Fprintf(a.out, "\n%d of %d\n", step.Number, step.Of)
	if step.Check != nil {
		fmt.Fprintf(a.out, "  check for the %s of turn %d: %q\n  %s\n", item.Class, item.Turn, report.Clean(item.Literal), report.Clean(checkText(step.Check)))
		return
	}
	for i := range a.rec.Messages {
		m := &a.rec.Messages[i]
		if m.Turn < item.Turn-turns || m.Turn > item.Turn || m.Role == fixtures.RoleTool || m.Content == "" || m.Turn == 0 {
			continue
		}
		fmt.Fprintf(a.out, "  %s, turn %d: %s\n", m.Role, m.Turn, around(m.Content, item.Literal, m.Turn == item.Turn))
	}
	fmt.Fprintf(a.out, "  %s: %q\n  why: %s\n  probe: %s\n  expect: %s\n", strings.ToUpper(string(item.Class)), report.Clean(item.Literal), report.Clean(step.Proposal.Why), report.Clean(item.Probe), report.Clean(item.Expect))
	if item.Status != "" || item.SupersededBy != "" {
		fmt.Fprintf(a.out, "  no longer in force: %s\n", report.Clean(cmp.Or(string(item.Status), "superseded by "+item.SupersededBy)))
	}
}

// around is a text shortened to what stands near a literal in it, which is marked.
func around(text, literal string, mark bool) string {
	const most = 600
	at := strings.Index(text, literal)
	if !mark || at < 0 {
		return report.Shorten(text, most/2)
	}
	before, after := report.Clean(text[:at]), report.Clean(text[at+len(literal):])
	if len([]rune(before)) > most/2 {
		before = "..." + string([]rune(before)[len([]rune(before))-most/2:])
	}
	return before + ">>" + report.Clean(literal) + "<<" + report.Shorten(after, most/2)
}

func checkText(c *fixtures.Check) string {
	switch {
	case c.Never != "":
		return "never: " + c.Never
	case c.Must != "":
		return "must: " + c.Must
	}
	return "final: " + c.Final
}

// edit asks for each part of an item anew; an empty line keeps it.
func (a *annotation) edit(step *annotate.Step) error {
	if step.Check != nil {
		return errors.New("a check is taken or left; it can be edited in the fixture")
	}
	item := step.Proposal.Item
	if err := a.ask(&item); err != nil {
		return err
	}
	return a.session.Confirm(step, item)
}

// add takes an item that was not proposed: by its turn, and by its text there.
func (a *annotation) add() error {
	var item fixtures.Item
	text, err := a.keys.line("turn: ")
	if err != nil {
		return err
	}
	if item.Turn, err = strconv.Atoi(strings.TrimSpace(text)); err != nil {
		return fmt.Errorf("%q is no turn", text)
	}
	for i := range a.rec.Messages {
		if m := &a.rec.Messages[i]; m.Turn == item.Turn && m.Content != "" {
			fmt.Fprintf(a.out, "  %s: %s\n", m.Role, report.Shorten(m.Content, 2000))
		}
	}
	item.Class, item.Expect = fixtures.Constraint, "yes"
	if err := a.ask(&item); err != nil {
		return err
	}
	return a.session.Add(item)
}

func (a *annotation) ask(item *fixtures.Item) error {
	class := string(item.Class)
	for _, part := range []struct {
		name  string
		to    *string
		wrong func(string) string // what is wrong with an answer, or empty
	}{
		{"class", &class, func(text string) string {
			if slices.Contains(fixtures.Classes(), fixtures.Class(text)) {
				return ""
			}
			return fmt.Sprintf("%q: want constraint, commitment, open_question or reference", text)
		}},
		{"literal", &item.Literal, func(text string) string {
			for i := range a.rec.Messages {
				if m := &a.rec.Messages[i]; m.Turn == item.Turn && text != "" && strings.Contains(m.Content, text) {
					return ""
				}
			}
			return fmt.Sprintf("%q does not stand in turn %d", text, item.Turn)
		}},
		{"probe", &item.Probe, wantsText}, {"expect", &item.Expect, wantsText},
	} {
		for tries := 0; ; tries++ {
			answer, err := a.keys.line(fmt.Sprintf("%s [%s]: ", part.name, report.Clean(*part.to)))
			if err != nil {
				return err
			}
			if answer = strings.TrimSpace(answer); answer == "" {
				answer = *part.to
			}
			wrong := part.wrong(answer)
			if wrong == "" {
				*part.to = answer
				break
			}
			if tries == 2 {
				return errors.New(wrong)
			}
			fmt.Fprintf(a.out, "  %s\n", report.Clean(wrong))
		}
	}
	item.Class = fixtures.Class(class)
	return nil
}

func wantsText(text string) string {
	if text == "" {
		return "it wants a text"
	}
	return ""
}

// write writes the fixture and says where.
func (a *annotation) write(why string) error {
	f, path, err := a.save()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\n%s: %s and %s in %s\nnext: doubletake fixtures hash --set %s --bump VERSION\n", why, report.Plural(len(f.MustSurvive), "item"), report.Plural(len(f.Checks), "check"), path, shellPath(a.dir))
	return nil
}

// save writes the fixture, which then verifies.
func (a *annotation) save() (f *fixtures.Fixture, path string, err error) {
	f = a.session.Fixture(*a.base)
	if err := f.Verify(a.rec); err != nil {
		return nil, "", err
	}
	if err := fixtures.WriteFixture(a.dir, f); err != nil {
		return nil, "", err
	}
	return f, filepath.Join(a.dir, f.ConversationID+".json"), nil
}
