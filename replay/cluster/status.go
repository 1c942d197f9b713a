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
}

// RunStatus is one run.
type RunStatus struct {
	Run string `json:"run"`
	// Name is the run in keys and in what workers say of it.
	Name string `json:"name"`
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
		run := RunStatus{Run: manifest.Run, Name: manifest.name()}
		consumer, err := c.jobs.Consumer(ctx, run.Name)
		if err == nil {
			var info *jetstream.ConsumerInfo
			if info, err = consumer.Info(ctx); err == nil {
				run.Queued, run.Running, run.Again = info.NumPending, info.NumAckPending, info.NumRedelivered
			}
		}
		s.Runs = append(s.Runs, run)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil
		}
		return err
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
			if data, err = c.unpack(ctx, data); err != nil {
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
