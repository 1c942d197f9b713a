package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/cluster"
	"github.com/doubletake-dev/doubletake/replay/cluster/clustertest"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// TestAddresses: what a run asks is known with what nobody has named.
func TestAddresses(t *testing.T) {
	const own, openAI, anthropic = "https://own.example/v1", "https://api.openai.com/v1", "https://api.anthropic.com"
	for name, test := range map[string]struct {
		agent     model.Endpoint // none is the embedded provider
		compactor compactorConfig
		named     string // in place of one of the config
		user      string
		want      []string
	}{
		"the embedded provider":            {compactor: compactorConfig{Use: "ledger"}},
		"the agent alone":                  {agent: model.Endpoint{BaseURL: openAI}, compactor: compactorConfig{Use: "summarize"}, want: []string{openAI}},
		"a simulated user":                 {agent: model.Endpoint{BaseURL: own}, compactor: compactorConfig{Use: "ledger"}, user: "https://user.example/v1", want: []string{own, "https://user.example/v1"}},
		"Anthropic's preset":               {compactor: compactorConfig{Preset: "anthropic-compact"}, want: []string{anthropic + "/v1"}},
		"the same with an address":         {compactor: compactorConfig{Preset: "anthropic-compact", BaseURL: own}, want: []string{own}},
		"the same beside another provider": {agent: model.Endpoint{BaseURL: own}, compactor: compactorConfig{Preset: "anthropic-compact"}, want: []string{own, anthropic + "/v1"}},
		"the same where the agent is":      {agent: model.Endpoint{BaseURL: own, Anthropic: &model.AnthropicOptions{}}, compactor: compactorConfig{Preset: "anthropic-compact"}, want: []string{own, own}},
		"OpenAI's preset":                  {agent: model.Endpoint{BaseURL: own}, compactor: compactorConfig{Preset: "openai-compact"}, want: []string{own, openAI}},
		"the same where the agent is too":  {agent: model.Endpoint{BaseURL: own, Responses: true}, compactor: compactorConfig{Preset: "openai-compact"}, want: []string{own, own}},
		"by HTTP, with a key in the query": {compactor: compactorConfig{HTTP: "https://c.example/compact?key=secret"}, want: []string{"https://c.example/compact"}},
		"an address as a name":             {named: "https://c.example/compact", want: []string{"https://c.example/compact"}},
		"a command":                        {compactor: compactorConfig{Exec: []string{"./compact"}}},
	} {
		n := night{endpoint: test.agent, offline: test.agent.BaseURL == "", config: &config{Compactors: map[string]compactorConfig{}}}
		n.config.User.BaseURL = test.user
		r := role{analysis.RoleCandidate, test.named}
		if test.named == "" {
			r.compactor = "c"
			n.config.Compactors["c"] = test.compactor
		}
		n.roles = []role{r}
		var got []string
		for _, a := range n.addresses() {
			got = append(got, a.url)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if n.runsCommand() != (len(test.compactor.Exec) > 0) {
			t.Errorf("%s: a command: %t", name, n.runsCommand())
		}
	}
	for _, test := range []struct {
		asked    askedAddress
		endpoint string
		want     bool
	}{
		{askedAddress{url: "https://a.example/v1"}, "https://a.example/v1/", true},
		{askedAddress{url: "https://a.example/v1"}, "https://a.example", false},
		{askedAddress{"https://a.example/v1", true}, "https://a.example", true},
		{askedAddress{"https://a.example", true}, "https://a.example/v1", true},
		{askedAddress{"https://a.example", true}, "https://b.example/v1", false},
	} {
		if got := test.asked.within(test.endpoint); got != test.want {
			t.Errorf("%+v within %s: %t", test.asked, test.endpoint, got)
		}
	}
}

// TestAPresetIsAskedWhereItIsAllowed: the address that a worker is to be allowed is the one
// that the compactor asks.
func TestAPresetIsAskedWhereItIsAllowed(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-none")
	t.Setenv("OPENAI_API_KEY", "sk-none")
	for _, c := range []compactorConfig{{Preset: "anthropic-compact", Model: "m"}, {Preset: "openai-compact", Model: "m"}} {
		var digests []fixtures.Hash
		for _, base := range []string{"", (&night{}).presetAt(c)} {
			c.BaseURL = base
			n := &night{config: &config{}}
			n.endpoint.Responses = c.Preset == compact.PresetOpenAI // it wants an agent that can read it
			made, err := n.preset("c", c)
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, made.(interface{ Digest() fixtures.Hash }).Digest()) // the address is part of it
		}
		if digests[0] != digests[1] {
			t.Errorf("%s is asked elsewhere than at %s", c.Preset, c.BaseURL)
		}
	}
}

// TestAWorkerKeepsTheSetsThatItNeeds: those that runs are played over, and the latest.
func TestAWorkerKeepsTheSetsThatItNeeds(t *testing.T) {
	joined, err := cluster.Connect(t.Context(), cluster.Options{URL: clustertest.Servers(t, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Close()
	sets := workerSets{cluster: joined, dir: t.TempDir(), sets: map[string]*workerSet{}}
	var parts []*runParts
	for _, note := range []string{"one", "two", "three"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "fixtures", "adversarial"))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "notes.md"), []byte(note), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := joined.PutFiles(t.Context(), os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, &runParts{Set: note, Files: files})
	}
	there := func(step string, want int) {
		t.Helper()
		entries, err := os.ReadDir(sets.dir)
		if err != nil || len(entries) != want {
			t.Errorf("%s: %d sets are there, want %d; %v", step, len(entries), want, err)
		}
	}
	open := func(p *runParts) func() error {
		t.Helper()
		set, release, err := sets.open(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if set.Name != p.Set || len(set.Fixtures) == 0 {
			t.Errorf("%s has %d fixtures", set.Name, len(set.Fixtures))
		}
		return release
	}
	first, again, second := open(parts[0]), open(parts[0]), open(parts[1])
	for _, step := range []struct {
		name    string
		release func() error
		want    int
	}{
		{"one of two runs is over", first, 2}, {"it is over twice", first, 2}, {"the other is over too", again, 1}, {"nothing is played", second, 1},
	} {
		if err := step.release(); err != nil {
			t.Fatal(err)
		}
		there(step.name, step.want)
	}
	third := open(parts[2])
	there("a run over another set", 1)
	if err := third(); err != nil {
		t.Fatal(err)
	}
	damaged := map[string]cluster.File{"manifest.json": {Hash: "0123456789abcdef"}}
	if _, _, err := sets.open(t.Context(), &runParts{Set: "none", Files: damaged}); err == nil {
		t.Error("a set that is not there")
	}
	there("a set that is not there", 1)
}

// TestHasRoom: a folder that takes no files has no room, and nothing is left in one that does.
func TestHasRoom(t *testing.T) {
	dir := t.TempDir()
	if err := hasRoom(dir); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	if err := hasRoom(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("%v", err)
	}
}

// TestAnotherBuildPlaysWhereItIsAllowed, and says so.
func TestAnotherBuildPlaysWhereItIsAllowed(t *testing.T) {
	var warned bytes.Buffer
	app := cli.NewApp()
	app.ErrWriter = &warned
	for _, allowed := range []bool{false, true} {
		app.Flags = []cli.Flag{&cli.BoolFlag{Name: "any-build", Value: allowed}}
		app.Action = func(c *cli.Context) error {
			w := fleetWorker{cli: c, program: programID{Executable: "aa"}}
			if err := w.sameProgram(&runParts{Program: w.program}); err != nil || warned.Len() > 0 {
				t.Errorf("the same program: %v, %s", err, warned.String())
			}
			err := w.sameProgram(&runParts{Program: programID{Executable: "bb"}})
			if allowed != (err == nil) || allowed != strings.Contains(warned.String(), "executable bb") {
				t.Errorf("another build, allowed: %t: %v, %s", allowed, err, warned.String())
			}
			return nil
		}
		if err := app.Run([]string{"worker"}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestALongNightKeepsItsSet: a set is stored anew while the night lasts, and one that has
// changed on the disk is not.
func TestALongNightKeepsItsSet(t *testing.T) {
	url := clustertest.Servers(t, 1)
	connect := func(prefix string) *cluster.Cluster {
		joined, err := cluster.Connect(t.Context(), cluster.Options{URL: url, Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = joined.Close() })
		return joined
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "fixtures", "adversarial"))); err != nil {
		t.Fatal(err)
	}
	set, err := fixtures.LoadSet(os.DirFS(dir), "own")
	if err != nil {
		t.Fatal(err)
	}
	known := night{cluster: connect("elsewhere"), set: set}
	files, err := known.putSet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	n := night{cluster: connect("here"), set: set, progress: &progress{out: &told}}
	ctx, stop := context.WithCancel(t.Context())
	var keeping sync.WaitGroup
	keeping.Go(func() { n.keepSet(ctx, time.Millisecond) })
	for {
		err := n.cluster.FetchFiles(ctx, files, t.TempDir())
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	stop()
	keeping.Wait()
	if told.Len() > 0 {
		t.Error(told.String())
	}
	name := set.Fixtures[0].Path
	if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := n.putSet(t.Context()); err == nil || !strings.Contains(err.Error(), "has changed since this night began") {
		t.Errorf("%v", err)
	}
}
