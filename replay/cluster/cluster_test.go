package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
	"github.com/doubletake-dev/doubletake/replay/executortest"
)

// connect joins the cluster, and leaves it with the test.
func connect(t *testing.T, url, prefix string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Connect(t.Context(), cluster.Options{URL: url, Prefix: prefix, AckWait: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// work starts a worker that plays by the engine, until the test ends.
func work(t *testing.T, c *cluster.Cluster, name string, engine *replay.Engine, set []*fixtures.Fixture, arms []replay.Arm) {
	t.Helper()
	play := func(ctx context.Context, key replay.Key) (*replay.Episode, error) {
		f := set[slices.IndexFunc(set, func(f *fixtures.Fixture) bool { return f.Hash == key.Fixture })]
		arm := arms[slices.IndexFunc(arms, func(a replay.Arm) bool { return a.Name == key.Arm })]
		return replay.InProcess{Engine: engine}.Play(ctx, replay.Job{Key: key, Fixture: f, Arm: arm})
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = c.Work(ctx, cluster.Worker{
			Name: name, Slots: 4,
			Open: func(context.Context, *cluster.Manifest) (*cluster.Player, error) {
				return &cluster.Player{Play: play, Contexts: engine.Contexts, Close: func() error { return nil }}, nil
			},
		})
	})
	t.Cleanup(func() { cancel(); ended.Wait() })
}

func TestExecutor(t *testing.T) {
	conform(t, clustertest.Servers(t, 3), func(*replay.Engine) {})
}

// losing is a model in whose middle a server goes.
type losing struct {
	replay.Model
	asked *atomic.Int64
	lose  func()
}

func (l losing) Complete(ctx context.Context, r *replay.Request) (*replay.Reply, error) {
	if l.asked.Add(1) == 20 {
		l.lose()
	}
	return l.Model.Complete(ctx, r)
}

func TestExecutorWhileAServerGoes(t *testing.T) {
	servers := clustertest.Start(t, 3)
	asked := new(atomic.Int64)
	conform(t, servers.URL, func(engine *replay.Engine) {
		engine.Model = losing{engine.Model, asked, func() { servers.Stop(0) }}
	})
	if asked.Load() < 20 {
		t.Error("no server went")
	}
}

// conform has a leader and two workers do what executors must do.
func conform(t *testing.T, url string, change func(*replay.Engine)) {
	t.Helper()
	runs := 0
	executortest.Test(t, func(t *testing.T, engine *replay.Engine, set []*fixtures.Fixture, arms []replay.Arm, folder *replay.Folder) replay.Executor {
		runs++
		change(engine)
		prefix := fmt.Sprintf("test.%d", runs)
		for i := range 2 {
			work(t, connect(t, url, prefix), fmt.Sprintf("worker-%d", i), engine, set, arms)
		}
		leader, err := connect(t, url, prefix).Lead(t.Context(), cluster.Manifest{Run: folder.Run.ID, Plan: folder.Run.Plan}, folder.Contexts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := leader.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return leader
	})
}
