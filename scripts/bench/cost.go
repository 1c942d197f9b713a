package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// cost counts what nights over the shipped set ask of their models, agents, summarisers and
// judge together, over what two naive full replays ask: the agent's model for every message
// that the assistant wrote, with all that stands before it, once an arm.
func (b *bench) cost(ctx context.Context) error {
	naive, err := naiveReplays(2)
	if err != nil {
		return err
	}
	config := filepath.Join(b.dir, "cost.yaml")
	if err := os.WriteFile(config, []byte("compactors:\n  three: { use: clear-tool-results, tool_uses: 3 }\n  four: { use: clear-tool-results, tool_uses: 4 }\n"), 0o644); err != nil {
		return err
	}
	none := filepath.Join(b.dir, "cost-defaults.yaml")
	if err := os.WriteFile(none, nil, 0o644); err != nil {
		return err
	}
	b.heading("Cost on the shipped set, over two naive full replays", "night", "calls", "of them from the cache", "prompt tokens", "calls over naive", "prompt tokens over naive")
	b.row("two naive full replays", fmt.Sprint(naive.Requests), "-", fmt.Sprint(naive.PromptTokens), "1.00", "1.00")
	cache := filepath.Join(b.dir, "cost-cache")
	for i, n := range []struct {
		name string
		args []string
		own  bool // with a cache of its own
	}{
		{"first night", []string{"nightly", "--config", none}, false},
		{"second night", []string{"nightly", "--config", none}, false},
		{"one changed compactor", []string{"nightly", "--config", none, "--candidate", "keep-ends"}, false},
		{"compare of two with mostly identical contexts", []string{"compare", "--config", config, "three", "four"}, true},
	} {
		store := cache
		if n.own {
			store += "-own"
		}
		out := filepath.Join(b.dir, fmt.Sprint("cost-", i))
		args := append([]string{b.program}, n.args...)
		if n.own {
			args = append([]string{b.program, n.args[0]}, n.args[1:3]...)
		}
		args = append(args, "--out", out, "--cache-dir", store)
		if n.own {
			args = append(args, n.args[3:]...)
		}
		if _, _, err := (command{args: args, ok: []int{1, 3, 4}}).run(ctx); err != nil {
			return err
		}
		asked, err := reportedUsage(out)
		if err != nil {
			return err
		}
		b.row(n.name, fmt.Sprint(asked.Requests), fmt.Sprint(asked.Cached), fmt.Sprint(asked.PromptTokens),
			times(float64(asked.Requests), float64(naive.Requests)), times(float64(asked.PromptTokens), float64(naive.PromptTokens)))
		if n.name == "second night" {
			b.target(asked.Requests == 0, "calls of a second night", "0", "%d", asked.Requests)
		}
	}
	return nil
}

// naiveReplays counts the calls and prompt tokens of replaying the shipped set whole, so
// many times.
func naiveReplays(times int) (paid, error) {
	files, err := adversarial.Files()
	if err != nil {
		return paid{}, err
	}
	set, err := fixtures.LoadSet(files, "shipped")
	if err != nil {
		return paid{}, err
	}
	counter, err := model.NewCounter("offline-agent")
	if err != nil {
		return paid{}, err
	}
	var all paid
	for _, f := range set.Fixtures {
		rec, err := set.Recording(f)
		if err != nil {
			return paid{}, err
		}
		before := 0
		for _, m := range rec.Messages {
			if m.Role == fixtures.RoleAssistant {
				all.Requests += times
				all.PromptTokens += times * before
			}
			before += counter.Count(m)
		}
	}
	return all, nil
}
