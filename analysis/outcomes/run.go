package outcomes

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// readRun reads the first plays of an arm of a run. A fixture is known by its hash, so
// that one that changed between two runs meets nothing.
func readRun(dir string, o Options) (*File, error) {
	record, err := replay.ReadRecord(dir)
	if err != nil {
		return nil, fmt.Errorf("reading outcomes: %w", err)
	}
	var names []string
	arm, reference := o.Arm, ""
	for _, a := range record.Run.Plan.Arms {
		names = append(names, a.Name)
		switch a.Role {
		case analysis.RoleReference:
			reference = a.Name
		case analysis.RoleCandidate, analysis.RoleB:
			if o.Arm == "" {
				arm = a.Name
			}
		}
	}
	if arm, err = choose(names, arm, "arm", "arm"); err != nil {
		return nil, fmt.Errorf("reading outcomes: %s: %w", dir, err)
	}
	f := &File{Path: dir, Format: Run, Metric: arm, Duplicates: []string{}, Notes: []string{}, plan: &record.Run.Plan}
	if record.Run.Plan.Planned() > 1 {
		f.Notes = append(f.Notes, fmt.Sprintf("of %s the first plays count: %d of each were planned", dir, record.Run.Plan.Planned()))
	}
	var found []raw
	for _, x := range record.Fixtures {
		r := raw{content: string(x.Hash), name: x.ConversationID, group: x.SessionGroup()}
		if o.Cluster != "" && o.Cluster != "group" {
			return nil, fmt.Errorf("reading outcomes: %s: a run is clustered by group, not by %q", dir, o.Cluster)
		}
		episode := record.Episode(replay.Key{Fixture: x.Hash, Arm: arm})
		if episode == nil {
			r.reason = "never played"
			found = append(found, r)
			continue
		}
		o := pairing.Judge(x, episode, record.Episode(replay.Key{Fixture: x.Hash, Arm: reference}))
		switch {
		case o.Answer == fixtures.Pass:
			r.score = number(1)
		case o.Answer == fixtures.Fail:
			r.score = number(0)
		default:
			r.reason = o.Reason
		}
		found = append(found, r)
	}
	return f, f.settle(found, Options{})
}
