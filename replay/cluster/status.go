package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Status is how the whole fleet is getting on.
type Status struct {
	Workers []WorkerStatus `json:"workers"`
	Runs    []RunStatus    `json:"runs"`
	Dead    []Dead         `json:"dead_letters"`
}

// WorkerStatus is one worker.
type WorkerStatus struct {
	Name  string    `json:"name"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
	// Slots is how many episodes it plays at once, Running how many it plays now.
	Slots   int `json:"slots"`
	Running int `json:"running"`
	// Done counts the episodes that it played, Failed those of them that the world cut
	// short.
	Done   int `json:"done"`
	Failed int `json:"failed"`
	// Refused are the runs that it does not play for, with why.
	Refused map[string]string `json:"refused,omitempty"`
	// Unstored are the runs of which it cannot store what it played, and tries again.
	Unstored map[string]Unstored `json:"unstored,omitempty"`
}

// Unstored is why a worker cannot store what it played.
type Unstored struct {
	Why string `json:"why"`
	// Full says that there is no room for it, which does not pass.
	Full bool `json:"full"`
}

// RunStatus is one run.
type RunStatus struct {
	Run string `json:"run"`
	// Name is the run in keys and in what workers say of it.
	Name string `json:"name"`
	// Led says that it has a leader that lives; the jobs of others wait for theirs.
	Led bool `json:"led"`
	// Queued are jobs that wait for a worker, Running those that have one, Again those of
	// them that were given to more than one.
	Queued  uint64 `json:"queued"`
	Running int    `json:"running"`
	Again   int    `json:"again"`
}

// Status asks how the fleet is getting on.
func (c *Cluster) Status(ctx context.Context) (*Status, error) {
	s := &Status{Workers: []WorkerStatus{}, Runs: []RunStatus{}, Dead: []Dead{}}
	err := each(ctx, c, c.live, "worker.*", false, func(_ string, worker WorkerStatus) error {
		s.Workers = append(s.Workers, worker)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, c, c.data, runKey("*"), true, func(key string, manifest Manifest) error {
		run, err := c.runStatus(ctx, &manifest)
		if err != nil {
			return err
		}
		s.Runs = append(s.Runs, *run)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, c, c.data, "dead.*.*", true, func(_ string, dead Dead) error {
		s.Dead = append(s.Dead, dead)
		return nil
	})
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Runs, func(a, b RunStatus) int { return cmp.Compare(a.Run, b.Run) })
	slices.SortFunc(s.Dead, func(a, b Dead) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return s, err
}

func (c *Cluster) runStatus(ctx context.Context, manifest *Manifest) (*RunStatus, error) {
	run := &RunStatus{Run: manifest.Run, Name: manifest.name()}
	leader, err := c.entry(ctx, c.live, leaderKey(run.Name))
	if err != nil {
		return nil, err
	}
	run.Led = leader != nil
	err = c.try(ctx, "looking at the queue of a run", func(ctx context.Context) error {
		jobs, err := c.queued(ctx, run.Name)
		if err != nil {
			return err
		}
		run.Queued = uint64(len(jobs)) // in the stream, whether its consumer is there or not
		consumer, err := c.jobs.Consumer(ctx, run.Name)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		info := consumer.CachedInfo() // of now
		run.Running, run.Again = info.NumAckPending, info.NumRedelivered
		run.Queued -= min(run.Queued, uint64(info.NumAckPending))
		return nil
	})
	return run, err
}

// each calls do with every value whose key a pattern fits.
func each[T any](ctx context.Context, c *Cluster, kv jetstream.KeyValue, pattern string, packed bool, do func(string, T) error) error {
	keys, err := c.keys(ctx, kv, pattern)
	if err != nil {
		return err
	}
	for _, key := range keys {
		entry, err := c.entry(ctx, kv, key)
		if err != nil {
			return err
		}
		if entry == nil {
			continue // gone meanwhile
		}
		data := entry.Value()
		if packed {
			if data, err = c.unpack(ctx, data); errors.Is(err, errGone) {
				continue
			}
			if err != nil {
				return err
			}
		}
		var value T
		if json.Unmarshal(data, &value) != nil {
			continue // of another version
		}
		if err := do(key, value); err != nil {
			return err
		}
	}
	return nil
}
