package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/judge"
	"github.com/doubletake-dev/doubletake/replay/model"
	"github.com/doubletake-dev/doubletake/replay/offline"
	"github.com/doubletake-dev/doubletake/replay/tools"
)

// itemTexts are other ways to say an item, written by hand: such that say the same,
// that turn it around, and that soften it.
type itemTexts struct {
	Said     []string `json:"said"`
	Turned   []string `json:"turned"`
	Softened []string `json:"softened"`
}

//go:embed testdata/mutations.json
var mutationTexts []byte

// handWritten are the texts of the shipped set by conversation and item.
func handWritten(t *testing.T) map[string]map[string]itemTexts {
	t.Helper()
	var texts map[string]map[string]itemTexts
	if err := json.Unmarshal(mutationTexts, &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestEveryItemHangsByItself compacts every shipped fixture with compactors that
// drop, turn around or soften one item, and with such that keep all of them in
// other words and order. Exactly the verdict of that item and the checks that hang
// on it must follow, and nothing else.
func TestEveryItemHangsByItself(t *testing.T) {
	set, err := loadSet("")
	if err != nil {
		t.Fatal(err)
	}
	texts := handWritten(t)
	var columns []map[string]*mutation // for each arm, what it does to which fixture
	for _, f := range set.Fixtures {
		mutations, _ := mutationsOf(f, texts[f.ConversationID])
		if sampled() {
			mutations = sample(mutations)
		}
		for i, m := range mutations {
			if i == len(columns) {
				columns = append(columns, map[string]*mutation{})
			}
			columns[i][f.ConversationID] = m
		}
	}
	var arms []replay.Arm
	for i, column := range columns {
		// The names tell nothing, and the order is not that of the table.
		arms = append(arms, replay.Arm{Name: fmt.Sprintf("arm %d", i), Kind: replay.CompactorArm, Compactor: &mutator{set.Fixtures, texts, column}})
	}
	record := playOffline(t, set, arms, nil)

	verdicts := map[replay.DecisionKey]replay.Verdict{}
	for _, j := range replay.LatestJudgements(record.Judgements) {
		verdicts[j.Decision()] = j.Verdict
	}
	examined := 0
	for i, column := range columns {
		for _, f := range set.Fixtures {
			m := column[f.ConversationID]
			if m == nil {
				continue
			}
			examined++
			key := replay.Key{Fixture: f.Hash, Arm: arms[i].Name}
			for _, complaint := range m.examine(f, key, verdicts, record.Episode(key)) {
				t.Errorf("%s: %s: %s", f.ConversationID, m, complaint)
			}
		}
	}
	t.Logf("%d compacted conversations", examined)
}

// TestEveryWordingIsRead asks of every wording, in many a style, what the offline
// provider's agent and judge would see in the last compaction: exactly the item that
// it is about must be turned around or gone, and all others kept.
func TestEveryWordingIsRead(t *testing.T) {
	set, err := loadSet("")
	if err != nil {
		t.Fatal(err)
	}
	texts := handWritten(t)
	examined := 0
	for _, f := range set.Fixtures {
		recording, err := set.Recording(f)
		if err != nil {
			t.Fatal(err)
		}
		request := lastCompaction(f, recording)
		_, mutations := mutationsOf(f, texts[f.ConversationID])
		if sampled() {
			mutations = sample(mutations)
		}
		for _, m := range mutations {
			compactor := &mutator{set.Fixtures, texts, map[string]*mutation{f.ConversationID: m}}
			out, err := compactor.Compact(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			var context []string
			for i := range out.Messages {
				context = append(context, out.Messages[i].Content)
			}
			examined++
			reading := offline.Read(context...)
			for i := range f.MustSurvive {
				item := &f.MustSurvive[i]
				want := keeps.verdicts()
				if item.ID == m.item {
					want = m.kind.verdicts()
				}
				if found := reading.Find(item.Literal); !slices.Contains(want, replay.Verdict(found.Verdict)) {
					t.Errorf("%s: %s: item %s (%q): %+v, want one of %q", f.ConversationID, m, item.ID, item.Literal, found, want)
				}
			}
		}
	}
	t.Logf("%d contexts", examined)
}

// lastCompaction is the last compaction of a fixture's recorded messages.
func lastCompaction(f *fixtures.Fixture, recording *fixtures.Recording) *replay.CompactRequest {
	last := len(f.CompactAfter) - 1
	request := &replay.CompactRequest{Fixture: f.ConversationID, Compaction: last, AfterTurn: f.CompactAfter[last]}
	for i, m := range recording.Prefix(request.AfterTurn) {
		if m.Role != fixtures.RoleSystem {
			request.Messages = append(request.Messages, replay.CompactMessage{ID: fmt.Sprint(i), Message: m})
		}
	}
	return request
}

// kind is what a mutation does to its item.
type kind string

const (
	keeps   kind = "keeps all"
	drops   kind = "drops"
	cuts    kind = "cuts out of the recorded messages"
	turns   kind = "turns around"
	softens kind = "softens"
)

// verdicts are those that a mutation of the kind may leave its item with.
func (k kind) verdicts() []replay.Verdict {
	switch k {
	case drops, cuts:
		return []replay.Verdict{replay.Absent}
	case turns:
		return []replay.Verdict{replay.Contradicted}
	case softens:
		return []replay.Verdict{replay.Contradicted, replay.Absent}
	}
	return []replay.Verdict{replay.Verbatim, replay.Supported}
}

// mutation is one way to compact a fixture.
type mutation struct {
	kind  kind
	item  string // the one that it touches
	text  string // what stands in its place
	style style
	words int // which of the hand-written texts the others have, or -1 for the literals
	only  int // at which compaction it happens, or -1 for every one
}

func (m *mutation) String() string {
	s := string(m.kind)
	if m.item != "" {
		s += " " + m.item
	}
	if m.text != "" {
		s += fmt.Sprintf(" (%q)", m.text)
	}
	if m.only >= 0 {
		s += fmt.Sprintf(" at compaction %d only", m.only)
	}
	return fmt.Sprintf("%s, as %s, wording %d", s, styleNames[m.style], m.words)
}

// mutationsOf lists the mutations of a fixture. Those that are played cover every
// item, kind and style; every wording comes in those that are only read.
func mutationsOf(f *fixtures.Fixture, texts map[string]itemTexts) (played, read []*mutation) {
	if f.Shape == "language drift" {
		return nil, nil // the denials are English, and these conversations are not
	}
	n := len(f.ConversationID) // so that fixtures meet different styles
	mutate := func(k kind, item, text string, only int) *mutation {
		n++
		return &mutation{k, item, text, style(n % len(styleNames)), n%4 - 1, only}
	}
	for i := range styleNames {
		for words := -1; words < 3; words++ {
			m := &mutation{kind: keeps, style: style(i), words: words, only: -1}
			if (i+words+len(f.ConversationID))%34 == 0 {
				played = append(played, m)
			} else {
				read = append(read, m)
			}
		}
	}
	for i := range f.MustSurvive {
		item := &f.MustSurvive[i]
		turned := slices.Concat(texts[item.ID].Turned, denials(item))
		softened := slices.Concat(texts[item.ID].Softened, weaker(item))
		if i%2 == 0 { // by turns the first and a denial of the literal are played
			slices.Reverse(turned)
			slices.Reverse(softened)
		}
		if len(turned) > 0 { // a question can be turned around by written texts alone
			played = append(played, mutate(turns, item.ID, turned[0], -1))
		}
		if i%2 == 0 || f.AcceptedTrace != nil { // there the recorded messages are more than fit
			played = append(played, mutate(drops, item.ID, "", -1))
		} else {
			played = append(played, mutate(cuts, item.ID, "", -1))
		}
		if i < 2 && len(softened) > 0 {
			played = append(played, mutate(softens, item.ID, softened[0], -1))
		}
		for point, turn := range f.CompactAfter {
			if i < 2 && len(f.CompactAfter) > 1 && item.Turn <= turn {
				played = append(played, mutate(drops, item.ID, "", point))
			}
		}
		read = append(read, mutate(drops, item.ID, "", -1), mutate(cuts, item.ID, "", -1))
		for _, text := range turned {
			read = append(read, mutate(turns, item.ID, text, -1), mutate(turns, item.ID, text, -1))
		}
		for _, text := range softened {
			read = append(read, mutate(softens, item.ID, text, -1), mutate(softens, item.ID, text, -1))
		}
	}
	return played, read
}

// sample keeps every seventh.
func sample(list []*mutation) []*mutation {
	var kept []*mutation
	for i := 0; i < len(list); i += 7 {
		kept = append(kept, list[i])
	}
	return kept
}

// bare is the literal as a part of a sentence.
func bare(item *fixtures.Item) string { return strings.TrimRight(item.Literal, ".?") }

// denials keep the literal letter for letter and take it back beside it.
func denials(item *fixtures.Item) []string {
	if item.Class == fixtures.OpenQuestion {
		return nil
	}
	return []string{
		"It is not true that " + item.Literal,
		fmt.Sprintf("%q no longer applies.", bare(item)),
		fmt.Sprintf("The earlier point %q has been withdrawn.", bare(item)),
		"Ignore the following: " + bare(item) + ".",
	}
}

// weaker keep the literal letter for letter and weaken it beside it.
func weaker(item *fixtures.Item) []string {
	if item.Class == fixtures.OpenQuestion {
		return nil
	}
	return []string{"If possible: " + item.Literal, bare(item) + ", but that is only a preference."}
}

// examine says what in a played episode is not as the mutation wants it.
func (m *mutation) examine(f *fixtures.Fixture, key replay.Key, verdicts map[replay.DecisionKey]replay.Verdict, episode *replay.Episode) (complaints []string) {
	last := len(f.CompactAfter) - 1
	for point, turn := range f.CompactAfter {
		for i := range f.MustSurvive {
			item := &f.MustSurvive[i]
			if item.Turn > turn {
				continue
			}
			want := keeps.verdicts()
			if item.ID == m.item && (m.only < 0 || m.only == point) {
				want = m.kind.verdicts()
			}
			have := verdicts[replay.DecisionKey{Key: key, Compaction: point, Item: item.ID}]
			if f.StatusAt(item, turn) != fixtures.Active {
				want = []replay.Verdict{replay.Retired, replay.Stale}
			}
			if !slices.Contains(want, have) {
				complaints = append(complaints, fmt.Sprintf("compaction %d, item %s (%q): %q, want one of %q", point, item.ID, item.Literal, have, want))
			}
		}
	}
	if episode == nil || episode.Status != replay.Played {
		return append(complaints, fmt.Sprintf("the episode is not played: %+v", episode))
	}
	for _, result := range pairing.Judge(f, episode, nil).Checks {
		want := fixtures.Pass
		if result.Item != "" && result.Item == m.item && (m.only < 0 || m.only == last) {
			want = fixtures.Fail
		}
		if m.kind == cuts && result.Item == "" {
			continue // what lures the reference stands in the recorded messages, too
		}
		if result.Answer != want {
			complaints = append(complaints, fmt.Sprintf("check %s of item %q: %s (%s), want %s", result.Check, result.Item, result.Answer, result.Evidence, want))
		}
	}
	return complaints
}

// playOffline plays and judges the arms over the set against the offline provider.
// Inspect, if it is not nil, sees the body of every request.
func playOffline(t *testing.T, set *fixtures.Set, arms []replay.Arm, inspect func([]byte)) *replay.Record {
	t.Helper()
	return playOfflineWith(t, set, inspect, func(replay.Model, replay.Counter) []replay.Arm { return arms })
}

// playOfflineWith is playOffline for arms that ask the model themselves.
func playOfflineWith(t *testing.T, set *fixtures.Set, inspect func([]byte), makeArms func(replay.Model, replay.Counter) []replay.Arm) *replay.Record {
	t.Helper()
	library, err := offline.LoadLibrary(set.Files())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(inspected(offline.NewHandler(library), inspect))
	t.Cleanup(server.Close)
	client, err := model.NewClient(model.Endpoint{BaseURL: server.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	counter, err := model.NewCounter(offlineAgent)
	if err != nil {
		t.Fatal(err)
	}
	arms := makeArms(client, counter)
	plan := replay.Plan{
		Command:  "compare",
		Settings: replay.Settings{Model: offlineAgent, Seed: replay.DefaultSeed, Window: replay.DefaultWindow, Trigger: replay.DefaultTrigger, StepLimit: replay.DefaultStepLimit, Concurrency: replay.DefaultConcurrency},
		Fixtures: len(set.Fixtures), Items: set.Items(), Decisions: set.Decisions(),
	}
	for _, arm := range arms {
		plan.Arms = append(plan.Arms, replay.ArmInfo{Name: arm.Name, Kind: arm.Kind})
	}
	folder, err := replay.OpenFolder(t.TempDir(), plan, set.Fixtures, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	ctx := t.Context()
	engine := &replay.Engine{
		Settings: plan.Settings, Model: client, Counter: counter, NewTools: tools.NewTape, Recording: set.Recording, Contexts: folder.Contexts,
	}
	if err := engine.Play(ctx, folder, set.Fixtures, arms); err != nil {
		t.Fatal(err)
	}
	examiner := &judge.Judge{Model: client, Name: offlineJudge, Seed: plan.Settings.Seed, Concurrency: plan.Settings.Concurrency}
	if err := examiner.Run(ctx, folder); err != nil {
		t.Fatal(err)
	}
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil {
		t.Fatal(err)
	}
	return record
}
