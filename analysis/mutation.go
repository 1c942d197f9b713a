package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// MutationVersion is the version of [Mutation]'s JSON form.
const MutationVersion = 1

// Mutation says which broken compactions a set would have caught.
type Mutation struct {
	Version int            `json:"version"`
	Run     string         `json:"run"`
	Lineage replay.Lineage `json:"lineage"`
	Set     SetCounts      `json:"set"`
	// Compactor is the one whose output was broken; its own findings count against none.
	Compactor string `json:"compactor"`
	Seed      int    `json:"seed"`
	// Sample is how many mutants were taken at random of Candidates; 0 for all.
	Sample     int `json:"sample"`
	Candidates int `json:"candidates"`
	// Mutants counts the broken compactions, Rewrites the harmless ones, of which being
	// caught is a false alarm.
	Mutants  Caught `json:"mutants"`
	Rewrites Caught `json:"rewrites"`
	// OwnRows counts the mutants of an item and, as caught, those that the item's own row,
	// its pin or the agent noticed: what hangs on the set and its judge alone, whatever
	// the rules say.
	OwnRows Caught `json:"own_rows"`
	// Kinds counts by kind, mutants first, Classes the mutants of an item by its class.
	Kinds   []CaughtKind  `json:"kinds"`
	Classes []CaughtClass `json:"classes"`
	// Rows counts what caught the mutants, the most frequent first.
	Rows []CaughtRow `json:"rows"`
	// Alive are the mutants that nothing noticed, Alarms the rewrites that something did,
	// Unknown those of either that have no outcome.
	Alive   []MutantFate     `json:"alive"`
	Alarms  []MutantFate     `json:"alarms"`
	Unknown []MutantFate     `json:"unknown"`
	NotMade []replay.NotMade `json:"not_made"`
	Usage   Usage            `json:"usage"`
	Judge   Judge            `json:"judge"`
	Fates   []MutantFate     `json:"fates"`
}

// Caught counts what was noticed. The share is over those that have an outcome.
type Caught struct {
	Made    int `json:"made"`
	Caught  int `json:"caught"`
	Unknown int `json:"unknown"`
	// Share is Caught over those with an outcome, 0 to 1, null where there are none.
	Share *float64 `json:"share"`
}

func (c *Caught) add(f *MutantFate) {
	c.Made++
	switch {
	case len(f.By) > 0:
		c.Caught++
	case f.Reason != "":
		c.Unknown++
	}
	if scored := c.Made - c.Unknown; scored > 0 {
		share := float64(c.Caught) / float64(scored)
		c.Share = &share
	} else {
		c.Share = nil
	}
}

// CaughtKind counts one kind.
type CaughtKind struct {
	Kind string `json:"kind"`
	// Means says in words what was done.
	Means    string `json:"means,omitempty"`
	Harmless bool   `json:"harmless,omitempty"`
	Caught
	// ByRules is how many of an item's mutants a rule alone noticed: the item's own row
	// took the item as kept, and the agent did as before.
	ByRules int `json:"by_rules_alone"`
	// NotMade is how many did not apply.
	NotMade int `json:"not_made"`
}

// CaughtClass counts the mutants of the items of one class.
type CaughtClass struct {
	Class fixtures.Class `json:"class"`
	Caught
}

// CaughtRow counts the mutants that one row, or the pairs, caught.
type CaughtRow struct {
	Row    string `json:"row"`
	Caught int    `json:"caught"`
	// Alone is how many nothing else caught.
	Alone int `json:"alone"`
}

// MutantFate is a mutant with what noticed it.
type MutantFate struct {
	replay.Mutant
	// Literal is of the broken item.
	Literal string    `json:"literal,omitempty"`
	By      []Finding `json:"by"`
	// Reason says why nothing can be said of a mutant that nothing caught.
	Reason string `json:"reason,omitempty"`
}

// Finding is one row that is worse than under the good compactor.
type Finding struct {
	Row  string `json:"row"`
	What string `json:"what"`
}

// The rows that catch mutants, beside those of the rules, which are called by the rule.
const (
	rowLost         = "item lost"
	rowContradicted = "item contradicted"
	rowStale        = "stale item"
	rowPin          = "broken pin"
	rowVoice        = "another voice"
	rowFailed       = "failed compaction"
	rowPair         = "pair lost"
	rowRule         = "rule " // and the rule's name
)

// LoadMutation reads the mutation run in dir and says what was caught.
func LoadMutation(dir string) (*Mutation, error) {
	mutants, err := replay.ReadMutations(dir)
	if err != nil {
		return nil, err
	}
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return nil, err
	}
	return Mutate(record, mutants)
}

// Mutate says which mutants of a run were caught: a decision newly lost, turned around
// or stale against the good compactor, a pin or a rule newly broken, words newly in
// another's voice, a compaction newly failed, or a pair newly lost.
func Mutate(record *replay.Record, mutants *replay.Mutations) (*Mutation, error) {
	base := record.Arm(replay.RoleBase)
	if base == nil {
		return nil, fmt.Errorf("run %s has no arm of a good compactor: it is no run of fixtures mutate", record.Run.ID)
	}
	a, err := newAnalyser(record, Options{})
	if err != nil {
		return nil, err
	}
	plan := record.Run.Plan
	m := &Mutation{
		Version: MutationVersion, Run: record.Run.ID, Lineage: plan.Lineage, Compactor: mutants.Compactor,
		Set:  SetCounts{plan.Lineage.SetName, plan.Lineage.SetVersion, plan.Lineage.SetHash, plan.Fixtures, plan.Items, plan.Decisions},
		Seed: mutants.Seed, Sample: mutants.Sample, Candidates: mutants.Candidates,
		Kinds: []CaughtKind{}, Classes: []CaughtClass{}, Rows: []CaughtRow{}, Alive: []MutantFate{}, Alarms: []MutantFate{},
		Unknown: []MutantFate{}, NotMade: mutants.NotMade, Usage: usage(record), Judge: measureJudge(record, a.settings), Fates: []MutantFate{},
	}
	c := &catcher{record: record, base: base.Name, reference: a.arm(RoleReference), decisions: map[replay.Key][]decision{}}
	c.lens = lens{record: record, trusted: m.Judge.Trusted}
	c.collect()
	for _, k := range mutants.Kinds {
		m.Kinds = append(m.Kinds, CaughtKind{Kind: k.Kind, Means: k.Means, Harmless: k.Harmless})
	}
	for i := range mutants.Mutants {
		m.Fates = append(m.Fates, c.fate(&mutants.Mutants[i]))
	}
	m.count()
	return m, nil
}

// catcher compares mutants with the good compactor.
type catcher struct {
	record          *replay.Record
	lens            lens
	base, reference string
	decisions       map[replay.Key][]decision // by episode
}

// collect finds the decisions of all episodes.
func (c *catcher) collect() {
	for _, d := range c.lens.all(func(arm string) bool { return arm != c.reference }) {
		c.decisions[d.episode.Key] = append(c.decisions[d.episode.Key], d)
	}
}

// fate finds what noticed a mutant.
func (c *catcher) fate(m *replay.Mutant) MutantFate {
	f := MutantFate{Mutant: *m, By: []Finding{}}
	fixture := c.record.Fixture(m.Fixture)
	if fixture == nil {
		f.Reason = "the run does not hold its fixture"
		return f
	}
	if item := fixture.Item(m.Item); item != nil {
		f.Literal = item.Literal
	}
	mine := c.record.Episode(replay.Key{Fixture: m.Fixture, Arm: m.Arm()})
	good := c.record.Episode(replay.Key{Fixture: m.Fixture, Arm: c.base})
	switch {
	case mine == nil:
		f.Reason = "it was not played"
		return f
	case good == nil:
		f.Reason = "the good compactor was not played"
		return f
	}
	add := func(row, what string) { f.By = append(f.By, Finding{row, what}) }
	unjudged := c.items(good, mine, add)
	c.rules(good, mine, add)
	c.pair(fixture, good, mine, add)
	switch {
	case len(f.By) > 0:
	case mine.Status == replay.Faulted:
		f.Reason = mine.Reason
	case unjudged != "":
		f.Reason = unjudged
	}
	return f
}

// items finds the decisions that are worse, and says why one has no verdict.
func (c *catcher) items(good, mine *replay.Episode, add func(row, what string)) (unjudged string) {
	before := byID(c.decisions[good.Key])
	list := c.decisions[mine.Key]
	for i := range list {
		d := &list[i]
		old := before[d.id()]
		if old == nil || d.compaction.After == old.compaction.After {
			continue // the same context has the same verdicts
		}
		switch {
		case contradicted(d) && !contradicted(old):
			add(rowContradicted, d.String())
		case lost(d) && !lost(old):
			add(rowLost, d.String())
		case stale(d) && !stale(old):
			add(rowStale, d.String())
		case d.verdict == replay.Unjudged && old.verdict != replay.Unjudged:
			unjudged = "item " + d.item.ID + " was not judged"
			if d.judgement != nil && d.judgement.Reason != "" {
				unjudged += ": " + d.judgement.Reason
			}
		}
		if brokenPin(d) && !brokenPin(old) {
			add(rowPin, d.String())
		}
		if d.judgement != nil && d.judgement.Voice != "" && (old.judgement == nil || old.judgement.Voice == "") {
			add(rowVoice, d.item.ID+": "+d.judgement.Voice)
		}
	}
	return unjudged
}

// rules finds the rules that are newly broken and the compactions that newly failed.
func (c *catcher) rules(good, mine *replay.Episode, add func(row, what string)) {
	for i := range mine.Compactions {
		now := &mine.Compactions[i]
		at := slices.IndexFunc(good.Compactions, func(r replay.CompactionRecord) bool { return r.Index == now.Index })
		if at < 0 {
			continue
		}
		old := &good.Compactions[at]
		place := fmt.Sprintf("after turn %d: ", now.AfterTurn)
		if now.Status != replay.Compacted && old.Status == replay.Compacted {
			add(rowFailed, place+string(now.Status)+" "+now.Reason)
		}
		for _, r := range now.Rules {
			if !r.Held && !broke(old, r.Rule) {
				add(rowRule+string(r.Rule), place+r.Counter)
			}
		}
	}
	if mine.Status == replay.Void && good.Status != replay.Void {
		add(rowFailed, mine.Reason)
	}
}

func broke(c *replay.CompactionRecord, rule replay.Rule) bool {
	return slices.ContainsFunc(c.Rules, func(r replay.RuleResult) bool { return r.Rule == rule && !r.Held })
}

// pair says whether the agent newly failed.
func (c *catcher) pair(f *fixtures.Fixture, good, mine *replay.Episode, add func(row, what string)) {
	expected := c.record.Episode(replay.Key{Fixture: f.Hash, Arm: c.reference})
	old, now := pairing.Judge(f, good, expected), pairing.Judge(f, mine, expected)
	if old.Answer != fixtures.Pass || now.Answer != fixtures.Fail || good.PrefixHash != mine.PrefixHash {
		return
	}
	for _, r := range now.Checks {
		if r.Answer == fixtures.Fail {
			add(rowPair, "check "+r.Check+": "+r.Evidence)
		}
	}
}

// count fills in the sums.
func (m *Mutation) count() {
	kinds, classes, rows := map[string]*CaughtKind{}, map[fixtures.Class]*CaughtClass{}, map[string]*CaughtRow{}
	kind := func(name string, harmless bool) *CaughtKind {
		if kinds[name] == nil { // one that the run does not list, as an edited file may have
			m.Kinds = append(m.Kinds, CaughtKind{Kind: name, Harmless: harmless})
			kinds[name] = &CaughtKind{Kind: name, Harmless: harmless}
		}
		return kinds[name]
	}
	for _, k := range m.Kinds {
		kinds[k.Kind] = &k
	}
	for i := range m.Fates {
		f := &m.Fates[i]
		k := kind(f.Kind, f.Harmless)
		k.add(f)
		if f.Item != "" {
			own := *f
			own.By = slices.DeleteFunc(slices.Clone(f.By), func(by Finding) bool { return strings.HasPrefix(by.Row, rowRule) })
			m.OwnRows.add(&own)
			if len(own.By) == 0 && len(f.By) > 0 {
				k.ByRules++
			}
		}
		if f.Harmless {
			m.Rewrites.add(f)
		} else {
			m.Mutants.add(f)
		}
		switch {
		case len(f.By) == 0 && f.Reason != "":
			m.Unknown = append(m.Unknown, *f)
		case f.Harmless && len(f.By) > 0:
			m.Alarms = append(m.Alarms, *f)
		case !f.Harmless && len(f.By) == 0:
			m.Alive = append(m.Alive, *f)
		}
		if f.Harmless {
			continue
		}
		if f.Class != "" {
			if classes[f.Class] == nil {
				classes[f.Class] = &CaughtClass{Class: f.Class}
			}
			classes[f.Class].add(f)
		}
		countRows(rows, f)
	}
	for _, n := range m.NotMade {
		kind(n.Kind, false).NotMade += n.Count
	}
	for i := range m.Kinds {
		m.Kinds[i] = *kinds[m.Kinds[i].Kind]
	}
	for _, class := range fixtures.Classes() {
		if classes[class] != nil {
			m.Classes = append(m.Classes, *classes[class])
		}
	}
	for _, r := range rows {
		m.Rows = append(m.Rows, *r)
	}
	slices.SortFunc(m.Rows, func(a, b CaughtRow) int {
		return cmp.Or(cmp.Compare(b.Caught, a.Caught), cmp.Compare(a.Row, b.Row))
	})
}

func countRows(rows map[string]*CaughtRow, f *MutantFate) {
	var names []string
	for _, by := range f.By {
		if !slices.Contains(names, by.Row) {
			names = append(names, by.Row)
		}
	}
	for _, name := range names {
		if rows[name] == nil {
			rows[name] = &CaughtRow{Row: name}
		}
		rows[name].Caught++
		if len(names) == 1 {
			rows[name].Alone++
		}
	}
}
