// Package trial plays a set twice, whole and under one compactor, from a Go program: it
// is what a team needs to try its own [replay.Compactor] in go test.
//
// [Trial.Play] leaves a run directory and returns what is in it. It says nothing about
// the result: pair the two arms with pairing.Match, test the pairs with analysis/stats,
// or have the whole report and its gates from analysis.Load.
//
// It plays the recorded user, once an episode, and with no store of answers. What else a
// night can do (an incumbent, confirmation, a budget, a cache, a cluster) is the command
// line's: doubletake nightly.
package trial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/judge"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/offline"
	"github.com/doubletake-dev/doubletake/replay/tools"
)

// The names of the arms, which are their roles as well.
const (
	Reference = "reference" // the whole conversation
	Control   = "control"   // the same once more, to see how much a real model differs from itself
	Candidate = "candidate" // the compactor
)

// The models of the embedded provider, and how many of each kind of planted statement
// the judge is asked.
const (
	offlineAgent = "offline-agent"
	offlineJudge = "offline-judge"
	controls     = 3
)

// Trial is what is played.
type Trial struct {
	Set *fixtures.Set
	// Fixtures names those of the set that are played, by conversation id; empty for all.
	Fixtures  []string
	Compactor replay.Compactor
	// Dir is the run directory, which is made where it is missing. A trial that was
	// stopped goes on there. A compactor that has changed in between has to have
	// another digest (see compact.Digester), or the trial another folder.
	Dir string

	// Model speaks for the agent and for the judge, and is asked for ModelName; nil is
	// the embedded provider, which needs no key and no network.
	Model     replay.Model
	ModelName string
	// Endpoint says in the lineage where Model is reached.
	Endpoint string
	// JudgeName is the judge's model; empty is ModelName.
	JudgeName string

	// Window is the model's window in tokens, for fixtures that name none; 0 is
	// [replay.DefaultWindow]. Concurrency is how many episodes are played at once; 0 is
	// [replay.DefaultConcurrency].
	Window, Concurrency int
}

// Play plays the trial, has the items judged, and reads back what the run left. A set
// with fixtures that run programs for their tools is refused: the command line plays
// those, with --allow-exec. What goes wrong with a single episode stands in that
// episode; an error is for what ends the trial.
func (t Trial) Play(ctx context.Context) (_ *replay.Record, err error) {
	played, quarantined, err := t.fixtures()
	if err != nil {
		return nil, err
	}
	if t.Compactor == nil {
		return nil, errors.New("playing a trial: it has no Compactor")
	}
	arms := []replay.Arm{{Name: Reference, Kind: replay.ReferenceArm}}
	if t.Model != nil {
		if t.ModelName == "" {
			return nil, errors.New("playing a trial: Model is set, and ModelName says for which model it is asked; set both")
		}
		arms = append(arms, replay.Arm{Name: Control, Kind: replay.ControlArm})
	} else {
		server, err := t.offline(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
	}
	arms = append(arms, replay.Arm{Name: Candidate, Kind: replay.CompactorArm, Compactor: t.Compactor})
	counter, err := model.NewCounter(t.ModelName)
	if err != nil {
		return nil, err
	}
	plan := t.plan(played, arms, counter)
	plan.Quarantined = quarantined
	folder, err := replay.OpenFolder(t.Dir, plan, played, time.Now())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(t.play(ctx, folder, played, arms, counter), folder.Close()); err != nil {
		return nil, fmt.Errorf("playing a trial in %s: %w", t.Dir, err)
	}
	return replay.ReadRecord(t.Dir)
}

// fixtures are those that are played, and in words those that are in quarantine.
func (t Trial) fixtures() (played []*fixtures.Fixture, quarantined []string, err error) {
	if t.Set == nil {
		return nil, nil, errors.New("playing a trial: it has no Set")
	}
	chosen, err := t.Set.Select(t.Fixtures)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range chosen {
		if commands := f.Commands(); len(commands) > 0 {
			return nil, nil, fmt.Errorf("playing a trial: fixture %s runs programs for its tools (%q): play it with doubletake nightly --allow-exec, or leave it out", f.ConversationID, commands)
		}
		if f.Quarantined(time.Now()) {
			quarantined = append(quarantined, fmt.Sprintf("%s, until %s: %s", f.ConversationID, f.Quarantine.Until, f.Quarantine.Reason))
			continue
		}
		played = append(played, f)
	}
	if len(played) == 0 {
		return nil, nil, fmt.Errorf("playing a trial: no fixture of %s is left to play", t.Set.Name)
	}
	return played, quarantined, nil
}

// offline starts the embedded provider and has the trial ask it.
func (t *Trial) offline(ctx context.Context) (*offline.Server, error) {
	library, err := offline.LoadLibrary(t.Set.Files())
	if err != nil {
		return nil, fmt.Errorf("starting the embedded provider: %w", err)
	}
	server, err := offline.Listen(ctx, "", offline.NewHandler(library))
	if err != nil {
		return nil, fmt.Errorf("starting the embedded provider: %w", err)
	}
	t.Endpoint = replay.OfflineIdentity + string(library.Digest())
	client, err := model.NewClient(model.Endpoint{BaseURL: server.URL(), Identity: t.Endpoint, Untimed: true})
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	t.Model, t.ModelName, t.JudgeName = client, offlineAgent, offlineJudge
	return server, nil
}

func (t Trial) judgeName() string {
	if t.JudgeName != "" {
		return t.JudgeName
	}
	return t.ModelName
}

func (t Trial) settings() replay.Settings {
	s := replay.Settings{
		Model: t.ModelName, Seed: replay.DefaultSeed, Window: t.Window, Trigger: replay.DefaultTrigger,
		StepLimit: replay.DefaultStepLimit, SecondPass: true, Concurrency: t.Concurrency,
	}
	if s.Window == 0 {
		s.Window = replay.DefaultWindow
	}
	if s.Concurrency == 0 {
		s.Concurrency = replay.DefaultConcurrency
	}
	return s
}

func (t Trial) plan(played []*fixtures.Fixture, arms []replay.Arm, counter *model.Counter) replay.Plan {
	part := fixtures.Set{Fixtures: played}
	plan := replay.Plan{
		Command: "nightly", Settings: t.settings(), Fixtures: len(played), Items: part.Items(), Decisions: part.Decisions(),
		Analysis: []byte("{}"), // the defaults
		Lineage: replay.Lineage{
			AgentModel: t.ModelName, JudgeModel: t.judgeName(), JudgePrompt: judge.PromptSHA256(),
			Endpoint: t.Endpoint, JudgeEndpoint: t.Endpoint, Seed: replay.DefaultSeed,
			SetName: filepath.Base(t.Set.Name), SetVersion: t.Set.Version, SetHash: t.Set.Hash,
			Vocabulary: counter.Vocabulary, VocabularyOwn: counter.Exact || t.ModelName == offlineAgent,
			CompactorNames: []string{Candidate},
		},
	}
	for _, arm := range arms {
		info := replay.ArmInfo{Name: arm.Name, Role: arm.Name, Kind: arm.Kind}
		if arm.Compactor != nil {
			info.Compactor, info.Digest = arm.Name, compact.Digest(arm.Compactor)
		}
		plan.Arms = append(plan.Arms, info)
	}
	return plan
}

func (t Trial) play(ctx context.Context, folder *replay.Folder, played []*fixtures.Fixture, arms []replay.Arm, counter *model.Counter) error {
	settings := t.settings()
	engine := &replay.Engine{
		Settings: settings, Model: t.Model, Counter: counter, NewTools: (&tools.Maker{Files: t.Set.Files()}).New,
		Recording: t.Set.Recording, Contexts: folder.Contexts,
	}
	if err := engine.Play(ctx, folder, played, arms); err != nil {
		return err
	}
	examiner := &judge.Judge{
		Model: t.Model, Name: t.judgeName(), Seed: settings.Seed, Concurrency: settings.Concurrency, Controls: controls,
	}
	return examiner.Run(ctx, folder)
}
