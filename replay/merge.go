package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Merged says what a run was put together from.
type Merged struct {
	Shards []MergedShard `json:"shards"` // in their order
	// Again is what shards paid for although another one had paid for the same answer:
	// they do not know of each other's. The run's usage counts each answer once.
	Again PaidAgain `json:"paid_again"`
	// Damaged counts the journal lines of the shards whose checksum did not fit.
	Damaged int `json:"damaged,omitempty"`
}

// MergedShard is one of the runs that a run was put together from.
type MergedShard struct {
	Index   int       `json:"index"`
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	// Damaged are its journal lines whose checksum did not fit, and ContextsLost the
	// contexts that its episodes name and that could not be read: explain and review cannot
	// show them.
	Damaged      int `json:"damaged,omitempty"`
	ContextsLost int `json:"contexts_lost,omitempty"`
}

// PaidAgain counts answers that were paid for more than once, beyond the first time.
type PaidAgain struct {
	Answers int `json:"answers"`
	// Tokens are those of prompts and answers; CostUSD is as far as prices are known.
	Tokens  int     `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// ErrShardsMissing says that shards, or episodes of them, are not there yet.
var ErrShardsMissing = errors.New("not all of the set is there")

// ErrNoShards says that runs are not the shards of one run.
var ErrNoShards = errors.New("they are not the shards of one run")

// Merge puts the shards of one run together in the new run directory dir, whole or not at
// all: a run as if one machine had played the set. The shards may be named in any order
// and stay as they are.
//
// The error is [ErrNoShards] where they are not of one plan, or one stands twice, and
// [ErrShardsMissing] where shards or episodes are missing; both say which. Episodes that a
// fault of the world cut short are taken as they are: unscored, as in any run.
func Merge(dir string, shards []string) (*Run, error) {
	if err := vacant(dir); err != nil {
		return nil, err
	}
	records := make([]*Record, len(shards))
	for i, shard := range shards {
		record, err := ReadRecord(shard)
		if err != nil {
			return nil, fmt.Errorf("reading the shard %s: %w", shard, err)
		}
		records[i] = record
	}
	if err := ofOneRun(records); err != nil {
		return nil, err
	}
	if err := complete(records); err != nil {
		return nil, err
	}
	slices.SortFunc(records, func(a, b *Record) int {
		return cmp.Compare(a.Run.Plan.Shard.Index, b.Run.Plan.Shard.Index)
	})
	whole := wholeOf(records)
	return &whole.Run, whole.write(dir, records)
}

// vacant refuses a folder that holds something.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("merging into %s: %w; choose another --out", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("merging into %s: it is not empty; choose another --out", dir)
	}
	return nil
}

// ofOneRun says in what runs are not different shards of one run.
func ofOneRun(records []*Record) error {
	if len(records) == 0 {
		return fmt.Errorf("%w: there are none", ErrNoShards)
	}
	first := records[0]
	at := map[int]*Record{}
	for _, r := range records {
		s := r.Run.Plan.Shard
		if s == nil {
			return fmt.Errorf("%w: %s is a run of the whole set; nightly --shard I/N plays a shard", ErrNoShards, r.Dir)
		}
		if err := s.valid(); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrNoShards, r.Dir, err)
		}
		difference, err := planDifference(first.Run.Plan, r.Run.Plan)
		if err != nil {
			return fmt.Errorf("comparing the plans of %s and %s: %w", first.Dir, r.Dir, err)
		}
		if difference == "" {
			difference = wholeDifference(first.Run.Plan.Shard, s)
		}
		if difference == "" && !slices.Equal(first.Run.Plan.Quarantined, r.Run.Plan.Quarantined) {
			difference = fmt.Sprintf("in quarantine %q there, %q here", first.Run.Plan.Quarantined, r.Run.Plan.Quarantined)
		}
		if difference != "" {
			return fmt.Errorf("%w: %s and %s differ (%s)", ErrNoShards, first.Dir, r.Dir, difference)
		}
		if other := at[s.Index]; other != nil {
			return fmt.Errorf("%w: %s stands twice, as %s and as %s; name it once", ErrNoShards, s, other.Dir, r.Dir)
		}
		at[s.Index] = r
	}
	return nil
}

// complete names the shards that are missing, and what is missing of those that are there.
func complete(records []*Record) error {
	plan := &records[0].Run.Plan
	at := map[int]*Record{}
	for _, r := range records {
		at[r.Run.Plan.Shard.Index] = r
	}
	var faults []string
	for i := range plan.Shard.Of {
		index := i + 1
		r := at[index]
		if r == nil {
			var ids []string
			for _, m := range plan.Shard.members(index) {
				ids = append(ids, m.ID)
			}
			faults = append(faults, fmt.Sprintf("shard %d of %d is missing, with %s", index, plan.Shard.Of, listed("fixture", ids)))
			continue
		}
		missing := r.missing()
		switch {
		case len(missing) > 0:
			faults = append(faults, fmt.Sprintf("%s in %s lacks %s; run its command again with the same --out", r.Run.Plan.Shard, r.Dir, listed("episode", missing)))
		case r.Run.Ended == nil:
			faults = append(faults, fmt.Sprintf("%s in %s has not come to its end: it was stopped while it judged or played again; run its command again with the same --out", r.Run.Plan.Shard, r.Dir))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: %s", ErrShardsMissing, strings.Join(faults, "\n"))
	}
	return nil
}

// listed names things, with their number where there are too many to read.
func listed(noun string, names []string) string {
	const most = 50
	if len(names) != 1 {
		noun += "s"
	}
	list := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	if len(names) == 0 {
		return "no " + noun
	}
	return fmt.Sprintf("%d %s: %s", len(names), noun, list)
}

// missing names the planned episodes of a shard that are not there, faulted ones aside.
func (r *Record) missing() []string {
	plan := &r.Run.Plan
	var list []string
	for _, m := range plan.Shard.members(plan.Shard.Index) {
		if r.Fixture(m.Fixture) == nil {
			list = append(list, "all of "+m.ID)
			continue
		}
		for _, arm := range plan.Arms {
			for replicate := range plan.Planned() {
				if r.Episode(Key{Fixture: m.Fixture, Arm: arm.Name, Replicate: replicate}) == nil {
					list = append(list, fmt.Sprintf("%s/%s/%d", m.ID, arm.Name, replicate))
				}
			}
		}
	}
	return list
}

// wholeOf is the record of the run whose shards these are, in their order.
func wholeOf(records []*Record) *Record {
	first := &records[0].Run
	w := &Record{Run: Run{Version: first.Version, Started: first.Started, Plan: first.Plan, Merged: &Merged{}}}
	found := map[fixtures.Hash]*fixtures.Fixture{}
	paid := map[fixtures.Hash]bool{}
	var ids []byte
	for _, r := range records {
		for _, f := range r.Fixtures {
			found[f.Hash] = f
		}
		w.Episodes = append(w.Episodes, r.Episodes...)
		w.Judgements = append(w.Judgements, r.Judgements...)
		w.Controls = append(w.Controls, r.Controls...)
		w.Ratings = append(w.Ratings, r.Ratings...)
		w.Run.Merged.Damaged += r.Damaged
		w.Run.Merged.Again.add(r, paid)
		w.Run.Merged.Shards = append(w.Run.Merged.Shards, MergedShard{r.Run.Plan.Shard.Index, r.Run.ID, r.Run.Started, r.Damaged, r.contextsLost()})
		ids = fmt.Appendf(ids, "%s\n", r.Run.ID)
		if r.Run.Started.Before(w.Run.Started) {
			w.Run.Started = r.Run.Started
		}
	}
	for _, m := range first.Plan.Shard.Set {
		w.Fixtures = append(w.Fixtures, found[m.Fixture])
	}
	part := fixtures.Set{Fixtures: w.Fixtures}
	plan := &w.Run.Plan
	plan.Shard, plan.Fixtures, plan.Items, plan.Decisions = nil, len(w.Fixtures), part.Items(), part.Decisions()
	// The same shards are the same run, whenever they are put together: verdicts on its
	// pairs stay good.
	w.Run.ID = runID(w.Run.Started, ids)
	w.Episodes = w.order(LatestEpisodes(w.Episodes))
	w.Judgements = w.orderJudgements(w.Judgements)
	slices.SortFunc(w.Controls, func(a, b *Control) int { return cmp.Compare(a.ID, b.ID) })
	return w
}

// contextsLost counts the contexts that the episodes name and that cannot be read.
func (r *Record) contextsLost() int {
	whole := map[fixtures.Hash]bool{}
	lost := 0
	for _, e := range r.Episodes {
		for _, hash := range e.ContextHashes() {
			if _, seen := whole[hash]; !seen {
				if whole[hash] = r.Contexts.Whole(hash); !whole[hash] {
					lost++
				}
			}
		}
	}
	return lost
}

// add counts the answers that a shard paid for and that are paid already.
func (p *PaidAgain) add(r *Record, paid map[fixtures.Hash]bool) {
	for _, e := range r.Exchanges() {
		if e.Stored {
			continue
		}
		if paid[e.Key] {
			p.Answers++
			p.Tokens += e.Usage.Total()
			if e.CostUSD != nil {
				p.CostUSD += *e.CostUSD
			}
		}
		paid[e.Key] = true
	}
}

// write writes the run beside its place, and puts it there once it is whole.
func (r *Record) write(dir string, shards []*Record) (err error) {
	parent, base := filepath.Split(filepath.Clean(dir))
	if err := os.MkdirAll(filepath.Clean(parent), 0o755); err != nil {
		return fmt.Errorf("making the run directory: %w; choose another --out", err)
	}
	temp, err := os.MkdirTemp(filepath.Clean(parent), "."+base+"-")
	if err != nil {
		return fmt.Errorf("making the run directory: %w; choose another --out", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("merging into %s: %w", dir, err), os.RemoveAll(temp))
		}
	}()
	if err := os.Chmod(temp, 0o755); err != nil {
		return err
	}
	for _, shard := range shards {
		if err := copyContexts(filepath.Join(temp, ContextsDir), filepath.Join(shard.Dir, ContextsDir)); err != nil {
			return err
		}
	}
	if err := writeFixtures(filepath.Join(temp, FixturesFile), r.Fixtures); err != nil {
		return err
	}
	err = errors.Join(
		writeJournal(filepath.Join(temp, EpisodesFile), r.Episodes),
		writeJournal(filepath.Join(temp, JudgementsFile), r.Judgements),
		writeJournal(filepath.Join(temp, ControlsFile), r.Controls),
	)
	if err == nil && len(r.Ratings) > 0 {
		err = writeJournal(filepath.Join(temp, RatingsFile), r.Ratings)
	}
	if err == nil {
		err = WriteJSON(filepath.Join(temp, RunFile), r.Run)
	}
	if err != nil {
		return err
	}
	// An empty folder may be there, which not every system renames over.
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(temp, dir)
}

// writeJournal writes records as a whole journal.
func writeJournal[T any](path string, records []T) error {
	return fixtures.WriteFileAtomic(path, func(out io.Writer) error {
		for _, record := range records {
			line, err := SealLine(record)
			if err != nil {
				return err
			}
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// contextFile is a store's segment, or a context of a run of before. No two segments have
// one name.
var contextFile = regexp.MustCompile(`^([0-9a-f]{16}\.json|[0-9a-f]+-[0-9a-f]{8}\.pack)\.zst$`)

// copyContexts copies the contexts of a folder, where there are any. Those of one name
// are the same.
func copyContexts(to, from string) error {
	entries, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading contexts: %w", err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		target := filepath.Join(to, entry.Name())
		if _, err := os.Lstat(target); err == nil || !entry.Type().IsRegular() || !contextFile.MatchString(entry.Name()) {
			continue
		}
		if err := copyFile(target, filepath.Join(from, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
