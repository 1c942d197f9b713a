package replay

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/gofrs/flock"
	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// OfflineIdentity begins what lineages call the endpoint of the embedded provider.
const OfflineIdentity = "offline:"

// The files of a run directory.
const (
	RunFile        = "run.json"
	FixturesFile   = "fixtures.jsonl"
	EpisodesFile   = "episodes.jsonl"
	JudgementsFile = "judgements.jsonl"
	ControlsFile   = "controls.jsonl"
	PairsFile      = "pairs.jsonl"
	QueueFile      = "queue.jsonl"
	ContextsDir    = "contexts"
	lockFile       = ".lock"
)

// RunVersion is the version of the run directory's formats.
const RunVersion = 1

// Run describes a run: all that its result depends on, without secrets.
type Run struct {
	Version int       `json:"version"`
	ID      string    `json:"id"`
	Started time.Time `json:"started"`
	Plan    Plan      `json:"plan"`
	// Ended is when a shard came to its end; nil before, and for whole runs.
	Ended *time.Time `json:"ended,omitempty"`
	// Merged says which shards a run was put together from; nil for one that was played.
	Merged *Merged `json:"merged,omitempty"`
}

// Plan is what a run is to do. Two runs of equal plans are the same run; one goes
// on where the other stopped.
type Plan struct {
	Command  string    `json:"command"` // nightly or compare
	Lineage  Lineage   `json:"lineage"`
	Settings Settings  `json:"settings"`
	Arms     []ArmInfo `json:"arms"`
	Fixtures int       `json:"fixtures"`
	// Items counts the items of the fixtures, Decisions the compaction decisions
	// that they expect.
	Items     int `json:"items"`
	Decisions int `json:"decisions"`
	// Analysis is what the verdict is to be found by; the engine does not look at it.
	Analysis json.RawMessage `json:"analysis"`
	// Replicates is how often each episode is planned to be played, at least 1; 0 means
	// 1. Replicate numbers from there on are further plays of what had been found, and
	// no part of any test.
	Replicates int `json:"replicates,omitempty"`
	// Quarantined names the fixtures that were kept out, with why.
	Quarantined []string `json:"quarantined,omitempty"`
	// Shard is the part of the set that the run plays; nil for all of it.
	Shard *Shard `json:"shard,omitempty"`
}

// Planned is how often each episode is planned to be played.
func (p *Plan) Planned() int { return max(1, p.Replicates) }

// ArmInfo describes an arm on disk.
type ArmInfo struct {
	Name string  `json:"name"`
	Role string  `json:"role"` // reference, control, incumbent, candidate, a or b
	Kind ArmKind `json:"kind"`
	// Compactor is how the user named it, Digest what it depends on.
	Compactor string        `json:"compactor,omitempty"`
	Digest    fixtures.Hash `json:"digest,omitempty"`
}

// Lineage is all that a result depends on. Results of different lineages are shown
// side by side and never compared by a gate.
type Lineage struct {
	Program       string        `json:"program"`
	AgentModel    string        `json:"agent_model"`
	JudgeModel    string        `json:"judge_model"`
	JudgePrompt   string        `json:"judge_prompt_sha256"`
	Endpoint      string        `json:"endpoint"`
	JudgeEndpoint string        `json:"judge_endpoint"`
	Temperature   int           `json:"temperature"`
	Seed          int           `json:"seed"`
	SetName       string        `json:"set"`
	SetVersion    string        `json:"set_version"`
	SetHash       fixtures.Hash `json:"set_hash"`
	Vocabulary    string        `json:"token_vocabulary"`
	VocabularyOwn bool          `json:"token_vocabulary_exact"`
	// AgentMaxTokens and JudgeMaxTokens bound one answer; 0 where only the provider does.
	AgentMaxTokens int      `json:"agent_max_tokens,omitempty"`
	JudgeMaxTokens int      `json:"judge_max_tokens,omitempty"`
	CompactorNames []string `json:"compactors"`
	// UserModel, UserPrompt and UserEndpoint are who simulates the user; empty where the
	// recorded user speaks.
	UserModel    string `json:"user_model,omitempty"`
	UserPrompt   string `json:"user_prompt_sha256,omitempty"`
	UserEndpoint string `json:"user_endpoint,omitempty"`
	// AgentAPI is how the agent's model is asked where that isn't Chat Completions.
	AgentAPI string `json:"agent_api,omitempty"`
	// JudgeAPI is the same of the judge's. AgentSent and JudgeSent say in words what their
	// models are sent otherwise than usual, such as "no seed"; empty for nothing.
	JudgeAPI  string `json:"judge_api,omitempty"`
	AgentSent string `json:"agent_sent,omitempty"`
	JudgeSent string `json:"judge_sent,omitempty"`
	// InsidePrompt is the prompt with which the agent's model is asked about opaque
	// contexts; empty where it isn't.
	InsidePrompt string `json:"inside_prompt_sha256,omitempty"`
	// Injected is the failure that the compactors' model was given on purpose. A run with
	// one is no baseline.
	Injected string `json:"injected,omitempty"`
}

// Folder is an open run directory.
type Folder struct {
	Dir        string
	Run        Run
	Episodes   *Journal[*Episode]
	Judgements *Journal[*Judgement]
	Controls   *Journal[*Control]
	Contexts   *Contexts
	lock       *flock.Flock
	// Resumed says that the run was there before.
	Resumed bool
}

// ErrOtherPlan says that a directory holds the run of another plan.
var ErrOtherPlan = errors.New("it holds a run of another plan")

// OpenFolder makes the run directory dir for the plan, or goes on with the run that
// lies there if its plan is the same. The set's fixtures are written beside, so that
// the run can be read without the set.
func OpenFolder(dir string, plan Plan, set []*fixtures.Fixture, now time.Time) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the run directory: %w; choose another --out", err)
	}
	f, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	if err := f.open(plan, set, now); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Folder) open(plan Plan, set []*fixtures.Fixture, now time.Time) error {
	run, err := ReadRun(f.Dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := f.create(plan, set, now); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		difference, err := planDifference(run.Plan, plan)
		if err != nil {
			return err
		}
		if difference != "" {
			return f.otherPlan(difference)
		}
		if difference := shardDifference(run.Plan.Shard, plan.Shard); difference != "" {
			return f.otherPlan(difference)
		}
		there, err := readFixtures(filepath.Join(f.Dir, FixturesFile))
		if err != nil {
			return err
		}
		if difference := fixtureDifference(there, set); difference != "" {
			return f.otherPlan(difference)
		}
		f.Run, f.Resumed = *run, true
	}
	return f.openJournals()
}

func (f *Folder) otherPlan(difference string) error {
	return fmt.Errorf("run directory %s: %w (%s); choose another --out", f.Dir, ErrOtherPlan, difference)
}

// RunID names a run that begins now: sorted by time, and another one for each run.
func RunID(now time.Time) string {
	return runID(now, fmt.Appendf(nil, "%d %d", now.UnixNano(), os.Getpid()))
}

// runID names a run by its begin and by what tells it from others of that second.
func runID(begun time.Time, other []byte) string {
	return begun.UTC().Format("20060102T150405Z") + "-" + string(fixtures.HashBytes(other))[:8]
}

// SetEnded notes in a shard's run when it came to its end, or with nil that it goes on.
func (f *Folder) SetEnded(at *time.Time) error {
	f.Run.Ended = at
	return WriteJSON(filepath.Join(f.Dir, RunFile), f.Run)
}

func (f *Folder) openJournals() (err error) {
	if f.Episodes, err = OpenJournal[*Episode](filepath.Join(f.Dir, EpisodesFile)); err != nil {
		return err
	}
	if f.Judgements, err = OpenJournal[*Judgement](filepath.Join(f.Dir, JudgementsFile)); err != nil {
		return err
	}
	if f.Controls, err = OpenJournal[*Control](filepath.Join(f.Dir, ControlsFile)); err != nil {
		return err
	}
	f.Episodes.Names(f.Contexts)
	f.Judgements.Names(f.Contexts)
	f.Controls.Names(f.Contexts)
	return nil
}

// Reopen opens the run in dir for another judge, who is named in the run's lineage
// from then on as the lineage given names it. What the judges before said stays in the journals.
func Reopen(dir string, judge Lineage) (*Folder, error) {
	run, err := ReadRun(dir)
	if err != nil {
		return nil, err
	}
	f, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	f.Run, f.Resumed = *run, true
	l := &f.Run.Plan.Lineage
	l.JudgeModel, l.JudgePrompt, l.JudgeEndpoint = judge.JudgeModel, judge.JudgePrompt, judge.JudgeEndpoint
	l.JudgeAPI, l.JudgeSent, l.JudgeMaxTokens = judge.JudgeAPI, judge.JudgeSent, judge.JudgeMaxTokens
	if err := f.openJournals(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := WriteJSON(filepath.Join(dir, RunFile), f.Run); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// PlayAgain gives the run the id of the one that it plays again from stored answers.
func (f *Folder) PlayAgain(id string) error {
	f.Run.ID = id
	return WriteJSON(filepath.Join(f.Dir, RunFile), f.Run)
}

// lockFolder takes the run directory dir for this process.
func lockFolder(dir string) (*Folder, error) {
	f := &Folder{Dir: dir, lock: flock.New(filepath.Join(dir, lockFile)), Contexts: NewContexts(filepath.Join(dir, ContextsDir))}
	locked, err := f.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the run directory %s: %w; choose another --out", dir, err)
	}
	if !locked {
		return nil, fmt.Errorf("the run directory %s is in use by another doubletake; wait for it, or choose another --out", dir)
	}
	return f, nil
}

func (f *Folder) create(plan Plan, set []*fixtures.Fixture, now time.Time) error {
	f.Run = Run{Version: RunVersion, ID: RunID(now), Started: now.UTC().Truncate(time.Second), Plan: plan}
	if err := writeFixtures(filepath.Join(f.Dir, FixturesFile), set); err != nil {
		return err
	}
	return WriteJSON(filepath.Join(f.Dir, RunFile), f.Run)
}

type storedFixture struct {
	Hash fixtures.Hash `json:"hash"`
	// Path is the fixture's own file, relative to the set; runs of before don't have it.
	Path    string            `json:"path,omitempty"`
	Fixture *fixtures.Fixture `json:"fixture"`
}

func writeFixtures(path string, set []*fixtures.Fixture) error {
	lines := make([]storedFixture, len(set))
	for i, f := range set {
		lines[i] = storedFixture{f.Hash, f.Path, f}
	}
	return writeJournal(path, lines)
}

// Close closes the journals and gives the directory free.
func (f *Folder) Close() error {
	var faults []error
	if f.Episodes != nil {
		faults = append(faults, f.Episodes.Close())
	}
	if f.Judgements != nil {
		faults = append(faults, f.Judgements.Close())
	}
	if f.Controls != nil {
		faults = append(faults, f.Controls.Close())
	}
	return errors.Join(append(faults, f.Contexts.Close(), f.lock.Unlock())...)
}

// WriteJSON writes a value as indented JSON, whole or not at all.
func WriteJSON(path string, value any) error {
	return fixtures.WriteFileAtomic(path, func(out io.Writer) error {
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(value)
	})
}

// planDifference names the first part in which two plans differ, or returns the
// empty string.
func planDifference(a, b Plan) (string, error) {
	var fields [2]map[string]json.RawMessage
	for i, plan := range []Plan{a, b} {
		data, err := json.Marshal(plan)
		if err == nil {
			err = json.Unmarshal(data, &fields[i])
		}
		if err != nil {
			return "", err
		}
	}
	for _, name := range []string{"lineage", "arms", "settings", "analysis", "command", "replicates"} {
		if string(fields[0][name]) == string(fields[1][name]) {
			continue
		}
		if name == "lineage" {
			return lineageDifference(a.Lineage, b.Lineage), nil
		}
		if name == "settings" {
			return settingsDifference(a.Settings, b.Settings), nil
		}
		if name == "arms" {
			return armsDifference(a.Arms, b.Arms), nil
		}
		return name + " differ", nil
	}
	return "", nil
}

// armsDifference names the first arm in which two plans differ.
func armsDifference(a, b []ArmInfo) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d arms there, %d now", len(a), len(b))
	}
	for i := range a {
		switch {
		case a[i].Name != b[i].Name:
			return fmt.Sprintf("%s %s there, %s now", a[i].Role, a[i].Name, b[i].Name)
		case a[i].Digest != b[i].Digest:
			return fmt.Sprintf("compactor %s has changed: its command, its files or its options (digest %s there, %s now)", a[i].Name, a[i].Digest, b[i].Digest)
		}
	}
	return "arms differ"
}

func settingsDifference(a, b Settings) string {
	switch {
	case a.Seed != b.Seed:
		return fmt.Sprintf("seed %d there, %d now", a.Seed, b.Seed)
	case a.Window != b.Window:
		return fmt.Sprintf("window %d there, %d now", a.Window, b.Window)
	case a.Trigger != b.Trigger:
		return fmt.Sprintf("trigger %v there, %v now", a.Trigger, b.Trigger)
	case a.StepLimit != b.StepLimit:
		return fmt.Sprintf("step limit %d there, %d now", a.StepLimit, b.StepLimit)
	case a.Mode != b.Mode:
		return fmt.Sprintf("mode %s there, %s now", a.Mode, b.Mode)
	}
	return "settings differ"
}

// fixtureDifference names the first fixture in which two selections of a set
// differ, or returns the empty string.
func fixtureDifference(there, now []*fixtures.Fixture) string {
	if len(there) != len(now) {
		return fmt.Sprintf("%d fixtures there, %d now", len(there), len(now))
	}
	for i := range there {
		if there[i].Hash != now[i].Hash {
			return fmt.Sprintf("fixture %s (%s) there, %s (%s) now",
				there[i].ConversationID, there[i].Hash, now[i].ConversationID, now[i].Hash)
		}
	}
	return ""
}

// user names who speaks for the user.
func (l *Lineage) user() string {
	if l.UserModel == "" {
		return "the recorded user"
	}
	return "a user simulated by " + l.UserModel
}

func lineageDifference(a, b Lineage) string {
	switch {
	case a.SetHash != b.SetHash:
		return fmt.Sprintf("set %s there, %s now", a.SetHash, b.SetHash)
	case a.AgentModel != b.AgentModel:
		return fmt.Sprintf("agent model %s there, %s now", a.AgentModel, b.AgentModel)
	case a.JudgeModel != b.JudgeModel:
		return fmt.Sprintf("judge model %s there, %s now", a.JudgeModel, b.JudgeModel)
	case a.Endpoint != b.Endpoint:
		return fmt.Sprintf("endpoint %s there, %s now", a.Endpoint, b.Endpoint)
	case a.JudgeEndpoint != b.JudgeEndpoint:
		return fmt.Sprintf("judge endpoint %s there, %s now", a.JudgeEndpoint, b.JudgeEndpoint)
	case a.JudgePrompt != b.JudgePrompt:
		return fmt.Sprintf("judge prompt %s there, %s now", a.JudgePrompt, b.JudgePrompt)
	case a.Seed != b.Seed:
		return fmt.Sprintf("seed %d there, %d now", a.Seed, b.Seed)
	case a.UserModel != b.UserModel:
		return fmt.Sprintf("%s there, %s now", a.user(), b.user())
	case a.UserEndpoint != b.UserEndpoint:
		return fmt.Sprintf("endpoint of the user %s there, %s now", a.UserEndpoint, b.UserEndpoint)
	case a.UserPrompt != b.UserPrompt:
		return fmt.Sprintf("prompt of the user %s there, %s now", a.UserPrompt, b.UserPrompt)
	case a.AgentAPI != b.AgentAPI:
		return fmt.Sprintf("agent asked by %s there, %s now", cmp.Or(a.AgentAPI, "chat"), cmp.Or(b.AgentAPI, "chat"))
	case a.JudgeAPI != b.JudgeAPI:
		return fmt.Sprintf("judge asked by %s there, %s now", cmp.Or(a.JudgeAPI, "chat"), cmp.Or(b.JudgeAPI, "chat"))
	case a.AgentMaxTokens != b.AgentMaxTokens || a.JudgeMaxTokens != b.JudgeMaxTokens:
		return fmt.Sprintf("answers of agent and judge bounded at %d and %d tokens there, %d and %d now", a.AgentMaxTokens, a.JudgeMaxTokens, b.AgentMaxTokens, b.JudgeMaxTokens)
	case a.AgentSent != b.AgentSent || a.JudgeSent != b.JudgeSent:
		return fmt.Sprintf("agent and judge sent %q and %q there, %q and %q now", a.AgentSent, a.JudgeSent, b.AgentSent, b.JudgeSent)
	case a.InsidePrompt != b.InsidePrompt:
		return "another prompt for opaque contexts there"
	case a.Injected != b.Injected:
		return fmt.Sprintf("injected failure %s there, %s now", cmp.Or(a.Injected, "none"), cmp.Or(b.Injected, "none"))
	case a.Program != b.Program:
		return fmt.Sprintf("made by %s, this is %s", a.Program, b.Program)
	case !slices.Equal(a.CompactorNames, b.CompactorNames):
		return fmt.Sprintf("compactors %v there, %v now", a.CompactorNames, b.CompactorNames)
	}
	return "lineages differ"
}

// ReadRun reads the description of the run in dir.
func ReadRun(dir string) (*Run, error) {
	path := filepath.Join(dir, RunFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a run: %w", err)
	}
	var run Run
	if err := json.Unmarshal(data, &run); err != nil {
		return nil, fmt.Errorf("reading a run: %s: %w", path, err)
	}
	if run.Version < 1 || run.Version > RunVersion {
		return nil, fmt.Errorf("reading a run: %s: version %d; this program reads 1 to %d", path, run.Version, RunVersion)
	}
	return &run, nil
}

// Record is all that a run left on disk but the contexts themselves. Its fixtures and
// episodes must not be exchanged once one was looked up.
type Record struct {
	Dir        string
	Run        Run
	Fixtures   []*fixtures.Fixture // in the order of the set
	Episodes   []*Episode          // one a key, in the order of fixtures and arms
	Judgements []*Judgement
	Controls   []*Control // of the run's own judge, one an id
	Ratings    []*Rating  // of the run's own models, where the rubric was asked for
	Contexts   *Contexts
	// Damaged counts journal lines whose checksum does not fit.
	Damaged int
	// again are the episodes in whose place later ones stand.
	again []*Episode

	indexing sync.Once
	episodes map[Key]*Episode
	fixtures map[fixtures.Hash]*fixtures.Fixture
}

// index makes looking up take the same time in a run of any size.
func (r *Record) index() {
	r.indexing.Do(func() {
		r.episodes = make(map[Key]*Episode, len(r.Episodes))
		for _, e := range r.Episodes {
			if r.episodes[e.Key] == nil {
				r.episodes[e.Key] = e
			}
		}
		r.fixtures = make(map[fixtures.Hash]*fixtures.Fixture, len(r.Fixtures))
		for _, f := range r.Fixtures {
			if r.fixtures[f.Hash] == nil {
				r.fixtures[f.Hash] = f
			}
		}
	})
}

// ReadRecord reads a run directory.
func ReadRecord(dir string) (*Record, error) {
	run, err := ReadRun(dir)
	if err != nil {
		return nil, err
	}
	r := &Record{Dir: dir, Run: *run, Contexts: NewContexts(filepath.Join(dir, ContextsDir))}
	if run.Merged != nil {
		r.Damaged = run.Merged.Damaged
	}
	// These two are by far the longest.
	var episodes []*Episode
	var damaged int
	var group errgroup.Group
	group.Go(func() (err error) {
		r.Fixtures, err = readFixtures(filepath.Join(dir, FixturesFile))
		return err
	})
	group.Go(func() (err error) {
		episodes, damaged, err = ReadJournal[*Episode](filepath.Join(dir, EpisodesFile))
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r.Damaged += damaged
	latest := LatestEpisodes(episodes)
	r.again = slices.DeleteFunc(episodes, func(e *Episode) bool { return latest[e.Key] == e })
	r.Episodes = r.order(latest)
	judgements, damaged, err := ReadJournal[*Judgement](filepath.Join(dir, JudgementsFile))
	if err != nil {
		return nil, err
	}
	r.Damaged += damaged
	r.Judgements = r.orderJudgements(LatestJudgements(r.current(judgements)))
	controls, damaged, err := ReadJournal[*Control](filepath.Join(dir, ControlsFile))
	if err != nil {
		return nil, err
	}
	r.Damaged += damaged
	r.Controls = r.latestControls(controls)
	return r, r.readRatings()
}

// latestControls keeps the controls of the run's own judge, one an id: the first that
// is scored, else the last.
func (r *Record) latestControls(controls []*Control) []*Control {
	var list []*Control
	for _, c := range controls {
		if c.Judge != r.Run.Plan.Lineage.Judge() {
			continue
		}
		i := slices.IndexFunc(list, func(o *Control) bool { return o.ID == c.ID })
		switch {
		case i < 0:
			list = append(list, c)
		case list[i].Verdict == Unjudged:
			list[i] = c
		}
	}
	slices.SortFunc(list, func(a, b *Control) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// orderJudgements lists judgements by episode, compaction and item, whatever order
// they were found in.
func (r *Record) orderJudgements(judgements []*Judgement) []*Judgement {
	type place struct{ episode, compaction, item int }
	episodes := map[Key]int{}
	items := map[DecisionKey]int{}
	for i, e := range r.Episodes {
		episodes[e.Key] = i
		for k, item := range r.Fixture(e.Fixture).MustSurvive {
			items[DecisionKey{Key: e.Key, Item: item.ID}] = k
		}
	}
	at := func(j *Judgement) place {
		return place{episodes[j.Key], j.Compaction, items[DecisionKey{Key: j.Key, Item: j.Item}]}
	}
	slices.SortStableFunc(judgements, func(a, b *Judgement) int {
		x, y := at(a), at(b)
		return cmp.Or(cmp.Compare(x.episode, y.episode), cmp.Compare(x.compaction, y.compaction), cmp.Compare(x.item, y.item))
	})
	return judgements
}

// current leaves out the judgements of compactions that no longer count, because
// their episode was cut short and has been played again since.
func (r *Record) current(judgements []*Judgement) []*Judgement {
	type place struct {
		Key
		compaction int
	}
	contexts := map[place]fixtures.Hash{}
	for _, e := range r.Episodes {
		for i := range e.Compactions {
			contexts[place{e.Key, e.Compactions[i].Index}] = e.Compactions[i].After
		}
	}
	judge := r.Run.Plan.Lineage.Judge()
	return slices.DeleteFunc(judgements, func(j *Judgement) bool {
		return contexts[place{j.Key, j.Compaction}] != j.Context || (j.Judge != "" && j.Judge != judge)
	})
}

// LatestEpisodes keeps one episode a key: the first finished one, else the last.
func LatestEpisodes(episodes []*Episode) map[Key]*Episode {
	latest := map[Key]*Episode{}
	for _, e := range episodes {
		if old := latest[e.Key]; old == nil || !old.Finished() {
			latest[e.Key] = e
		}
	}
	return latest
}

// order lists episodes by fixture, arm and replicate, whatever order they finished
// in. Episodes of fixtures or arms that the run does not have are no part of it.
func (r *Record) order(latest map[Key]*Episode) []*Episode {
	replicates := map[Key][]*Episode{} // by a key without replicate
	for key, e := range latest {
		key.Replicate = 0
		replicates[key] = append(replicates[key], e)
	}
	var list []*Episode
	for _, f := range r.Fixtures {
		for _, arm := range r.Run.Plan.Arms {
			episodes := replicates[Key{Fixture: f.Hash, Arm: arm.Name}]
			slices.SortFunc(episodes, func(a, b *Episode) int { return cmp.Compare(a.Replicate, b.Replicate) })
			list = append(list, episodes...)
		}
	}
	return list
}

// Exchanges lists the distinct answers that the run took, in the order of their keys. An
// answer that the run paid for itself counts as paid wherever it was looked up again.
func (r *Record) Exchanges() []Exchange { return r.exchanges(r.Episodes) }

// Paid is Exchanges with those of the episodes that were played again since, as a fault of
// the world had cut them short: they are no part of what the run found, and were paid for.
func (r *Record) Paid() []Exchange { return r.exchanges(slices.Concat(r.Episodes, r.again)) }

func (r *Record) exchanges(episodes []*Episode) []Exchange {
	seen := map[fixtures.Hash]Exchange{}
	note := func(list ...Exchange) {
		for _, e := range list {
			if old, ok := seen[e.Key]; !ok || (old.Stored && !e.Stored) {
				seen[e.Key] = e
			}
		}
	}
	for _, e := range episodes {
		note(e.Exchanges...)
	}
	for _, j := range r.Judgements {
		if j.Exchange != nil {
			note(*j.Exchange)
		}
	}
	for _, c := range r.Controls {
		if c.Exchange != nil {
			note(*c.Exchange)
		}
	}
	for _, rating := range r.Ratings {
		note(rating.Exchanges...)
	}
	list := make([]Exchange, 0, len(seen))
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, seen[key])
	}
	return list
}

// SpentUSD is what the run has paid for so far, as far as prices are known.
func (r *Record) SpentUSD() float64 {
	spent := 0.0
	for _, e := range r.Paid() {
		if !e.Stored && e.CostUSD != nil {
			spent += *e.CostUSD
		}
	}
	return spent
}

// SpentTokens is what the run has taken of prompts and answers so far.
func (r *Record) SpentTokens() int {
	spent := 0
	for _, e := range r.Paid() {
		if !e.Stored {
			spent += e.Usage.Total()
		}
	}
	return spent
}

// Episode returns the episode with that key, or nil.
func (r *Record) Episode(key Key) *Episode {
	r.index()
	return r.episodes[key]
}

// Fixture returns the fixture with that hash, or nil.
func (r *Record) Fixture(hash fixtures.Hash) *fixtures.Fixture {
	r.index()
	return r.fixtures[hash]
}

// Arm returns the arm that plays a role, or nil.
func (r *Record) Arm(role string) *ArmInfo {
	for i := range r.Run.Plan.Arms {
		if r.Run.Plan.Arms[i].Role == role {
			return &r.Run.Plan.Arms[i]
		}
	}
	return nil
}

func readFixtures(path string) ([]*fixtures.Fixture, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading a run: %w", err)
	}
	defer file.Close()
	var list []*fixtures.Fixture
	lines := fixtures.NewLineReader(file)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			fixtures.Share(list)
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading a run: %s: %w", path, err)
		}
		body := openLine(line)
		if body == nil {
			return nil, &fixtures.SyntaxError{File: path, Line: lines.Line(), Err: errors.New("this line was changed since the run: its checksum does not fit")}
		}
		var stored storedFixture
		if err := jsonv1.Unmarshal(body, &stored); err != nil {
			return nil, &fixtures.SyntaxError{File: path, Line: lines.Line(), Err: err}
		}
		if stored.Fixture == nil {
			return nil, &fixtures.SyntaxError{File: path, Line: lines.Line(), Err: errors.New("no fixture in this line")}
		}
		stored.Fixture.Hash, stored.Fixture.Path = stored.Hash, stored.Path
		list = append(list, stored.Fixture)
	}
}

// StoredFixtureType is the type of a line of the run's fixtures, for its schema.
func StoredFixtureType() reflect.Type { return reflect.TypeFor[storedFixture]() }
