package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay"
)

// Version is the version of a history's JSON.
const Version = 1

// History is the runs of a folder, by lineage.
type History struct {
	Version  int       `json:"version"`
	Dir      string    `json:"dir"`
	Lineages []Lineage `json:"lineages"`
	// Skipped are the run directories that could not be read, with why.
	Skipped []Skipped `json:"skipped"`
}

// Lineage is the nights whose results may be compared, in the order in which they were
// begun.
type Lineage struct {
	// Differences says in words what differs from the lineage before it in the list; none
	// for the first.
	Differences []string `json:"differences"`
	Nights      []*Night `json:"nights"`
}

// Skipped is a run directory that is no part of the history.
type Skipped struct {
	Dir    string `json:"dir"`
	Reason string `json:"reason"`
}

// ErrNoRun says that a folder holds no run directory.
var ErrNoRun = errors.New("there is no run directory below it")

// Options change how a history is read.
type Options struct {
	// Recompute finds every verdict anew from what was recorded, however fresh the run's
	// report.json is.
	Recompute bool
	// Last keeps only so many nights of each lineage, the latest; 0 keeps all.
	Last int
}

// Read reads every run directory in or below dir. One that cannot be read is skipped and
// named. It is an error if dir cannot be read, or [ErrNoRun] if there is none in it.
func Read(dir string, options Options) (*History, error) {
	dirs, err := runDirs(dir)
	if err != nil {
		return nil, fmt.Errorf("looking for runs in %s: %w", dir, err)
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("looking for runs in %s: %w; nightly and compare make them (--out)", dir, ErrNoRun)
	}
	h := &History{Version: Version, Dir: dir, Lineages: []Lineage{}, Skipped: []Skipped{}}
	nights := make([]*Night, len(dirs))
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, at := range dirs {
		group.Go(func() error {
			night, err := ReadNight(at, options.Recompute)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				h.Skipped = append(h.Skipped, Skipped{at, err.Error()})
				return nil
			}
			nights[i] = night
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	nights = slices.DeleteFunc(nights, func(n *Night) bool { return n == nil })
	h.gather(nights)
	for i := range h.Lineages {
		l := &h.Lineages[i]
		if options.Last > 0 && len(l.Nights) > options.Last {
			l.Nights = l.Nights[len(l.Nights)-options.Last:]
		}
	}
	slices.SortFunc(h.Skipped, func(a, b Skipped) int { return cmp.Compare(a.Dir, b.Dir) })
	return h, nil
}

// runDirs lists the run directories in and below a folder. What is below a run is none.
func runDirs(dir string) ([]string, error) {
	var found []string
	isRun := func(path string) bool {
		_, err := os.Stat(filepath.Join(path, replay.RunFile))
		return err == nil
	}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return fs.SkipDir // a folder that may not be read holds nothing for us
		case entry.Type()&fs.ModeSymlink != 0 && isRun(path):
			found = append(found, path)
		case entry.IsDir() && isRun(path):
			found = append(found, path)
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}

// gather puts nights into lineages. A run that lies there twice counts once.
func (h *History) gather(nights []*Night) {
	slices.SortStableFunc(nights, func(a, b *Night) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Dir, b.Dir))
	})
	first := map[string]string{}
	for _, n := range nights {
		if other, ok := first[n.Run]; ok {
			h.Skipped = append(h.Skipped, Skipped{n.Dir, fmt.Sprintf("it is a copy of the run in %s", other)})
			continue
		}
		first[n.Run] = n.Dir
		h.add(n)
	}
	for i := 1; i < len(h.Lineages); i++ {
		h.Lineages[i].Differences = differences(h.Lineages[i-1].Nights[0], h.Lineages[i].Nights[0])
	}
	for _, l := range h.Lineages {
		open := map[Disagreement]bool{}
		for i, n := range l.Nights {
			if i > 0 {
				n.follow(l.Nights[:i], open)
			}
			maps.DeleteFunc(open, func(d Disagreement, _ bool) bool { return n.hasOutcome(d.Pair) })
			for _, d := range n.Disagreements {
				open[d] = true
			}
		}
	}
}

// add puts a night into its lineage, the latest one that fits.
func (h *History) add(n *Night) {
	for i := len(h.Lineages) - 1; i >= 0; i-- {
		if l := &h.Lineages[i]; len(differences(l.Nights[0], n)) == 0 {
			l.Nights = append(l.Nights, n)
			return
		}
	}
	h.Lineages = append(h.Lineages, Lineage{Differences: []string{}, Nights: []*Night{n}})
}

// differences says why the results of two nights must not be compared.
func differences(a, b *Night) []string {
	list := []string{}
	if a.Command != b.Command {
		list = append(list, fmt.Sprintf("command: %s there, %s here", a.Command, b.Command))
	}
	return append(list, analysis.LineageDifferences(&a.plan, &b.plan)...)
}

// follow notes what is otherwise than on the nights before; open are the disagreements
// among the last outcomes of all pairs there.
func (n *Night) follow(earlier []*Night, open map[Disagreement]bool) {
	before := earlier[len(earlier)-1]
	n.Changed = changes(&before.plan, &n.plan)
	n.New, n.Vanished, n.First = []Disagreement{}, []Disagreement{}, []Disagreement{}
	for _, d := range n.Disagreements {
		had := func(night *Night) bool { return night.hasOutcome(d.Pair) }
		switch {
		case open[d]:
		case slices.ContainsFunc(earlier, had):
			n.New = append(n.New, d)
		default:
			n.First = append(n.First, d)
		}
	}
	for d := range open {
		switch {
		case slices.Contains(n.Disagreements, d):
		case n.hasOutcome(d.Pair):
			n.Vanished = append(n.Vanished, d)
		case slices.Contains(before.Disagreements, d):
			n.Unknown = append(n.Unknown, d)
		}
	}
	byPair := func(a, b Disagreement) int {
		return cmp.Or(cmp.Compare(a.Pair, b.Pair), cmp.Compare(a.Cell, b.Cell))
	}
	slices.SortFunc(n.Vanished, byPair)
	slices.SortFunc(n.Unknown, byPair)
}

// changes says in words what a run has otherwise than one of before in its lineage.
func changes(before, now *replay.Plan) []string {
	list := armChanges(before, now)
	if a, b := before.Lineage.Program, now.Lineage.Program; a != b {
		list = append(list, fmt.Sprintf("program: %s there, %s here", a, b))
	}
	if string(before.Analysis) != string(now.Analysis) {
		list = append(list, "the settings of the verdict (floors, margin, levels) are others")
	}
	return list
}

// keptOut says whether a fixture was in quarantine.
func (n *Night) keptOut(pair string) bool {
	return slices.ContainsFunc(n.Quarantined, func(line string) bool { return strings.HasPrefix(line, pair+",") })
}

// armChanges says in words which arms differ between two plans.
func armChanges(a, b *replay.Plan) []string {
	list := []string{}
	find := func(p *replay.Plan, role string) *replay.ArmInfo {
		for i := range p.Arms {
			if side(p.Arms[i].Role) == role {
				return &p.Arms[i]
			}
		}
		return nil
	}
	for _, arm := range a.Arms {
		arm.Role = side(arm.Role)
		switch now := find(b, arm.Role); {
		case now == nil:
			list = append(list, fmt.Sprintf("%s: %s there, none here", arm.Role, arm.Name))
		case now.Name != arm.Name:
			list = append(list, fmt.Sprintf("%s: %s there, %s here", arm.Role, arm.Name, now.Name))
		case now.Digest != arm.Digest:
			list = append(list, fmt.Sprintf("%s: %s has changed (digest %.8s there, %.8s here)", arm.Role, arm.Name, arm.Digest, now.Digest))
		}
	}
	for _, arm := range b.Arms {
		arm.Role = side(arm.Role)
		if find(a, arm.Role) == nil {
			list = append(list, fmt.Sprintf("%s: none there, %s here", arm.Role, arm.Name))
		}
	}
	return list
}

// side is a role that is the same in a nightly and in a compare, where B is the candidate
// and A stands for the incumbent.
func side(role string) string {
	switch role {
	case analysis.RoleA:
		return analysis.RoleIncumbent
	case analysis.RoleB:
		return analysis.RoleCandidate
	}
	return role
}

// GateNames lists the gates of a lineage's nights, in the order in which they come.
func (l *Lineage) GateNames() []string {
	var names []string
	for _, n := range l.Nights {
		for _, g := range n.Gates {
			if !slices.Contains(names, g.Name) {
				names = append(names, g.Name)
			}
		}
	}
	return names
}
