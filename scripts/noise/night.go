package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/offline"
	"github.com/doubletake-dev/doubletake/replay/tools"
)

// agent is what the agent's model is called.
const agent = "offline-agent"

// stage is what all nights share.
type stage struct {
	set       *fixtures.Set
	library   *offline.Library
	counter   *model.Counter
	compactor string
	playing   []*fixtures.Fixture
	work      string
	// answers are how often the agent is asked in an episode of the reference where
	// nothing is flipped, by fixture.
	answers map[fixtures.Hash]int
}

// newStage picks the fixtures that are fit: without flips every arm ends alike, so that
// the compactor is as good as the reference, too, and what differs later is noise. Of
// those it takes the ones that cost the fewest tokens.
func newStage(ctx context.Context, s settings, work string) (*stage, error) {
	files, err := adversarial.Files()
	if err != nil {
		return nil, fmt.Errorf("opening the shipped set: %w", err)
	}
	st := &stage{compactor: s.compactor, work: work, answers: map[fixtures.Hash]int{}}
	if st.set, err = fixtures.LoadSet(files, "adversarial"); err != nil {
		return nil, err
	}
	if st.library, err = offline.LoadLibrary(files); err != nil {
		return nil, err
	}
	if st.counter, err = model.NewCounter(agent); err != nil {
		return nil, err
	}
	st.playing = st.set.Fixtures
	record, err := st.play(ctx, offline.Flip{})
	if err != nil {
		return nil, err
	}
	found, err := analysis.AnalyseWith(record, analysis.Options{Deterministic: true})
	if err != nil {
		return nil, err
	}
	quiet := map[fixtures.Hash]bool{} // the control has an outcome, too
	for _, p := range pairing.Match(record, analysis.RoleReference, analysis.RoleControl).Pairs {
		quiet[p.Fixture] = p.Cell.Scored() && !p.Cell.Discordant()
	}
	st.playing = nil
	tokens := map[fixtures.Hash]int{}
	for i := range found.Pairs {
		p := &found.Pairs[i]
		if !p.Cell.Scored() || p.Cell.Discordant() || !quiet[p.Fixture] {
			continue
		}
		st.playing = append(st.playing, record.Fixture(p.Fixture))
		for _, x := range record.Episode(replay.Key{Fixture: p.Fixture, Arm: analysis.RoleReference}).Exchanges {
			st.answers[p.Fixture]++ // nothing but the agent is asked under the reference
			tokens[p.Fixture] += x.Usage.PromptTokens
		}
	}
	if len(st.playing) < s.fixtures {
		return nil, fmt.Errorf("only %d fixtures of the shipped set are fit for %s; ask for no more with --fixtures", len(st.playing), s.compactor)
	}
	slices.SortStableFunc(st.playing, func(a, b *fixtures.Fixture) int { return cmp.Compare(tokens[a.Hash], tokens[b.Hash]) })
	st.playing = st.playing[:s.fixtures]
	return st, nil
}

// play plays one night: reference, control, and the compactor twice.
func (st *stage) play(ctx context.Context, flip offline.Flip) (record *replay.Record, err error) {
	dir, err := os.MkdirTemp(st.work, "night")
	if err != nil {
		return nil, fmt.Errorf("making the run directory of a night: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	handler, err := offline.NewFlippingHandler(st.library, flip)
	if err != nil {
		return nil, err
	}
	server, err := offline.Listen(ctx, "", handler)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, err := model.NewClient(model.Endpoint{BaseURL: server.URL(), Identity: "flipping", Untimed: true})
	if err != nil {
		return nil, err
	}
	compactor, err := compact.New(st.compactor, compact.Options{Model: client, ModelName: agent, Counter: st.counter})
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(analysis.DefaultSettings())
	if err != nil {
		return nil, fmt.Errorf("writing the settings of a night: %w", err)
	}
	part := fixtures.Set{Fixtures: st.playing}
	plan := replay.Plan{
		Command: "nightly", Fixtures: len(st.playing), Items: part.Items(), Decisions: part.Decisions(), Analysis: settings,
		// One episode at a time, so that the requests have one order.
		Settings: replay.Settings{
			Model: agent, Seed: replay.DefaultSeed, Window: replay.DefaultWindow, Trigger: replay.DefaultTrigger,
			StepLimit: replay.DefaultStepLimit, Concurrency: 1,
		},
	}
	var arms []replay.Arm
	add := func(role string, arm replay.Arm) {
		arms = append(arms, arm)
		plan.Arms = append(plan.Arms, replay.ArmInfo{Name: arm.Name, Role: role, Kind: arm.Kind})
	}
	add(analysis.RoleReference, replay.Arm{Name: analysis.RoleReference, Kind: replay.ReferenceArm})
	add(analysis.RoleControl, replay.Arm{Name: analysis.RoleControl, Kind: replay.ControlArm})
	add(analysis.RoleIncumbent, replay.Arm{Name: st.compactor, Kind: replay.CompactorArm, Compactor: compactor})
	add(analysis.RoleCandidate, replay.Arm{Name: st.compactor + " (2)", Kind: replay.CompactorArm, Compactor: compactor})
	folder, err := replay.OpenFolder(dir, plan, st.playing, time.Now())
	if err != nil {
		return nil, err
	}
	engine := &replay.Engine{
		Settings: plan.Settings, Model: client, Counter: st.counter, NewTools: tools.NewTape,
		Recording: st.set.Recording, Contexts: folder.Contexts,
		Apart: true, // the noise between equal arms is what is measured
	}
	if err := errors.Join(engine.Play(ctx, folder, st.playing, arms), folder.Close()); err != nil {
		return nil, err
	}
	return replay.ReadRecord(dir)
}

// outcome is what one night showed.
type outcome struct {
	discordance float64 // share of the control's pairs
	noisy       bool    // beyond the noise budget
	churn       bool    // the candidate is found to disagree more often than the control
	// against the reference, against the incumbent, and either: a row that blocks.
	reference, incumbent, blocked bool
}

// night plays and analyses one night. No judge is asked: the behaviour rows stand on the
// checks alone, and the rows of the items are not looked at.
func (st *stage) night(ctx context.Context, flip offline.Flip) (outcome, error) {
	var o outcome
	record, err := st.play(ctx, flip)
	if err != nil {
		return o, err
	}
	found, err := analysis.AnalyseWith(record, analysis.Options{Deterministic: true})
	if err != nil {
		return o, err
	}
	control := found.Report.Control
	if control.Discordant == nil || control.Churn == nil {
		return o, fmt.Errorf("a night with seed %d has no control: %s", flip.Seed, control.Reason)
	}
	o.discordance, o.noisy, o.churn = *control.Discordant, !control.Valid, control.Churn.PMore <= level
	rows := 0
	for _, g := range found.Report.Gates {
		regressed := g.Status == analysis.GateRegressed
		switch {
		case g.Name == "behaviour":
			o.reference = regressed
		case strings.HasPrefix(g.Name, "behaviour against "):
			o.incumbent = regressed
		default:
			continue
		}
		if rows++; g.Status == analysis.GateUnscored {
			return o, fmt.Errorf("a night with seed %d has no answer in the row %s: %s", flip.Seed, g.Name, g.Reason)
		}
	}
	if rows != 2 {
		return o, fmt.Errorf("a night with seed %d has %d behaviour rows, want 2", flip.Seed, rows)
	}
	o.blocked = o.reference || o.incumbent
	return o, nil
}
