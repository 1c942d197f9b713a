// Package judge asks a model what became of the items in a compacted context: one
// closed question a call, about one item, against that context alone. It never
// learns which arm made the context.
//
// Start with [Judge.Run], on the open folder of a run. Package rubric below is another
// thing: advisory, and no gate.
package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Judge finds verdicts on items.
type Judge struct {
	Model replay.Model
	Name  string // the judge's model
	Seed  int
	// Concurrency is how many questions are asked at once.
	Concurrency int
	// Controls is how many controls of each kind are planted; 0 for none.
	Controls int
	// Whole lists the fixtures of the set that the run is a shard of, so that all shards
	// together plant the controls of one run; nil where the run is no shard.
	Whole func() ([]Stated, error)
	// Skip says which compactions need no verdicts; nil for none.
	Skip func(*replay.Episode, *replay.CompactionRecord) bool
	// Progress hears how many of the decisions are judged; may be nil.
	Progress func(done, total int)
	// Insider is a model that can read a context that holds opaque messages, because it is
	// of the provider that made them; nil where there is none, and then what does not
	// stand readable in such a context is unscored. InsiderName is its name.
	Insider     replay.Model
	InsiderName string
	// Drain is closed when no further question is to be asked; what is in flight ends.
	// Nil for never.
	Drain <-chan struct{}
	// Log hears of every verdict that is journaled; nil for nobody.
	Log *slog.Logger

	pending sync.Map // of questions, by their hash
}

// decision is one item at one compaction of one episode.
type decision struct {
	episode    *replay.Episode
	compaction *replay.CompactionRecord
	item       *fixtures.Item
	// evidence is read once for all items of the compaction.
	evidence func() (*evidence, error)
}

// evidence is what there is to judge a compaction's items by.
type evidence struct {
	messages []fixtures.Message // the compacted context
	texts    []string           // all that stands in it
	recorded []fixtures.Message // what the episode had seen by then, as recorded
}

func readEvidence(record *replay.Record, e *replay.Episode, c *replay.CompactionRecord) (*evidence, error) {
	messages, err := record.Contexts.Get(c.After)
	if err != nil {
		return nil, err
	}
	return &evidence{messages, contents(messages), recordedUpTo(record, e, c)}, nil
}

// Run judges every compaction decision of the folder's run that has no scored
// verdict yet, and journals the verdicts episode by episode. An item counts at a
// compaction that ran and that comes after the item's turn.
//
// It returns early only when the context ends, when it is drained, with
// [replay.ErrInterrupted], or when the folder cannot be written; a fault of the judge's
// provider, or a context that can't be read, makes an item unscored. What was answered
// before it returns is journaled.
func (j *Judge) Run(ctx context.Context, folder *replay.Folder) error {
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil {
		return err
	}
	record.Contexts = folder.Contexts // what is put there is flushed with the judgements
	if err := j.controls(ctx, folder, record); err != nil {
		return err
	}
	todo := j.open(record)
	total := 0
	for _, decisions := range todo {
		total += len(decisions)
	}
	// One limit holds for the questions of all episodes together: most episodes have
	// too few of their own to keep a provider busy.
	slots := make(chan struct{}, max(1, j.Concurrency))
	var mu sync.Mutex
	done, left := 0, 0
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(2 * max(1, j.Concurrency)) // the contexts of these are held
	for _, decisions := range todo {
		group.Go(func() error {
			decided, err := j.judge(inner, folder, record, decisions, slots)
			mu.Lock()
			defer mu.Unlock()
			done += decided
			left += len(decisions) - decided
			if err == nil && j.Progress != nil {
				j.Progress(done, total)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if left > 0 {
		return replay.ErrInterrupted
	}
	return nil
}

// judge finds and journals the verdicts of one episode, and returns how many it found:
// all of them, unless it is drained.
func (j *Judge) judge(ctx context.Context, folder *replay.Folder, record *replay.Record, decisions []decision, slots chan struct{}) (int, error) {
	judgements := make([]*replay.Judgement, len(decisions))
	group, inner := errgroup.WithContext(ctx)
	for i, d := range decisions {
		group.Go(func() (err error) {
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case <-inner.Done():
				return context.Cause(inner)
			}
			if replay.Drained(j.Drain) {
				return nil
			}
			judgements[i], err = j.decide(inner, record, d)
			return err
		})
	}
	err := group.Wait()
	decided := slices.DeleteFunc(judgements, func(j *replay.Judgement) bool { return j == nil })
	err = errors.Join(err, folder.Judgements.Append(decided...))
	if err == nil {
		j.logVerdicts(ctx, decided)
	}
	return len(decided), err
}

// logVerdicts logs verdicts that stand in the journal, without what was said.
func (j *Judge) logVerdicts(ctx context.Context, judgements []*replay.Judgement) {
	if j.Log == nil {
		return
	}
	for _, x := range judgements {
		level := slog.LevelInfo
		if x.Verdict == replay.Unjudged {
			level = slog.LevelWarn
		}
		j.Log.Log(ctx, level, "verdict is journaled", "fixture", x.ConversationID, "arm", x.Arm, "compaction", x.Compaction+1, "item", x.Item, "class", x.Class,
			"verdict", x.Verdict, "asked", x.Judge != "", "context", x.Context)
	}
}

// open lists the decisions without a scored verdict, by episode.
func (j *Judge) open(record *replay.Record) [][]decision {
	scored := map[replay.DecisionKey]bool{}
	for _, judgement := range record.Judgements {
		if judgement.Verdict != replay.Unjudged {
			scored[judgement.Decision()] = true
		}
	}
	var todo [][]decision
	for _, e := range record.Episodes {
		if e.Replicate > 0 {
			continue // further plays confirm what the agent did, not what survived
		}
		f := record.Fixture(e.Fixture)
		var decisions []decision
		for i := range e.Compactions {
			c := &e.Compactions[i]
			if c.Status != replay.Compacted || j.Skip != nil && j.Skip(e, c) {
				continue
			}
			read := sync.OnceValues(func() (*evidence, error) { return readEvidence(record, e, c) })
			for k := range f.MustSurvive {
				item := &f.MustSurvive[k]
				key := replay.DecisionKey{Key: e.Key, Compaction: c.Index, Item: item.ID}
				if item.Turn <= c.AfterTurn && !scored[key] {
					decisions = append(decisions, decision{e, c, item, read})
				}
			}
		}
		if len(decisions) > 0 {
			todo = append(todo, decisions)
		}
	}
	return todo
}

func (j *Judge) decide(ctx context.Context, record *replay.Record, d decision) (*replay.Judgement, error) {
	judgement := &replay.Judgement{
		Key: d.episode.Key, ConversationID: d.episode.ConversationID,
		Compaction: d.compaction.Index, AfterTurn: d.compaction.AfterTurn,
		Item: d.item.ID, Class: d.item.Class, Context: d.compaction.After,
	}
	seen, err := d.evidence()
	if err != nil {
		judgement.Verdict, judgement.Reason = replay.Unjudged, err.Error()
		return judgement, nil
	}
	messages, recorded := seen.messages, seen.recorded
	judgement.Coverage = fixtures.Coverage(d.item.Literal, seen.texts...)
	how, holder := find(messages, recorded, d.item.Literal)
	if holder != nil {
		judgement.Role, judgement.Origin = holder.Role, origin(recorded, d.item)
		judgement.Voice = voice(judgement.Origin, holder)
	}
	f := record.Fixture(d.episode.Fixture)
	if f.StatusAt(d.item, d.compaction.AfterTurn) != fixtures.Active {
		return judgement, j.retired(ctx, record, judgement, messages, f, d, how)
	}
	if how == plain {
		judgement.Verdict = replay.Verbatim
		return judgement, nil
	}
	if err := j.ask(ctx, record, judgement, messages, d.item.Literal, d.item); err != nil {
		return nil, err
	}
	switch {
	case how == amended && (judgement.Verdict == replay.Supported || judgement.Verdict == replay.Absent):
		// The literal stands there. Only the judge can tell whether the words around it
		// turn it around; that they leave it alone or that it missed it changes nothing.
		judgement.Verdict, judgement.Answer = replay.Verbatim, ""
	case judgement.Verdict == replay.Supported && j.Name != replay.CoverageJudge && !answerFits(judgement.Answer, d.item.Expect):
		judgement.Verdict = replay.Contradicted
		judgement.Reason = fmt.Sprintf("supported, but the probe is answered %.80q, not %.80q", judgement.Answer, d.item.Expect)
	}
	return judgement, nil
}

// retired finds out whether an item that no longer binds survives as if it did: the
// probe is asked, with the statement that holds now, and its expected answer is the
// one of now.
func (j *Judge) retired(ctx context.Context, record *replay.Record, judgement *replay.Judgement, messages []fixtures.Message, f *fixtures.Fixture, d decision, how standing) error {
	now := f.Newest(d.item, d.compaction.AfterTurn)
	if err := j.ask(ctx, record, judgement, messages, now.Literal, d.item); err != nil {
		return err
	}
	right := answerFits(judgement.Answer, d.item.Expect)
	switch {
	case judgement.Verdict == replay.Unjudged:
	case right || how == nowhere && (now != d.item || judgement.Verdict != replay.Supported):
		// The context answers as things stand now, or says nothing of the old item.
		judgement.Verdict = replay.Retired
	default:
		judgement.Verdict = replay.Stale
		judgement.Reason = fmt.Sprintf("the answer is %.80q, now it is %.80q", judgement.Answer, d.item.Expect)
	}
	return nil
}

func contents(messages []fixtures.Message) []string {
	texts := make([]string, 0, len(messages))
	for i := range messages {
		texts = append(texts, messages[i].Content)
		for _, call := range messages[i].ToolCalls {
			texts = append(texts, string(call.Arguments))
		}
	}
	return texts
}

// ask asks the judge about a statement and the item's probe.
func (j *Judge) ask(ctx context.Context, record *replay.Record, judgement *replay.Judgement, messages []fixtures.Message, statement string, item *fixtures.Item) error {
	judgement.Judge = record.Run.Plan.Lineage.Judge()
	if opaque(messages) {
		return j.askInside(ctx, record, judgement, messages, statement, item)
	}
	if j.Name == replay.CoverageJudge {
		judgement.Verdict = replay.Absent
		if fixtures.Coverage(statement, contents(messages)...) >= fixtures.CoverageFloor {
			judgement.Verdict = replay.Supported
		}
		return nil
	}
	got, err := j.once(ctx, record, messages, statement, item.Probe)
	if err != nil {
		return err
	}
	got.into(judgement)
	return nil
}

// reply is what came of one question.
type reply struct {
	answer
	reason   string
	input    fixtures.Hash
	output   string
	exchange *replay.Exchange
}

// into writes what came of a question into a judgement.
func (r *reply) into(judgement *replay.Judgement) {
	judgement.Verdict, judgement.Answer, judgement.Reason = r.Verdict, r.Answer, r.reason
	judgement.Input, judgement.Output, judgement.Exchange = r.input, r.output, r.exchange
}

// question asks the judge one closed question about a context.
func (j *Judge) question(ctx context.Context, record *replay.Record, messages []fixtures.Message, statement, probe string) (*reply, error) {
	return put(ctx, record, j.Model, &replay.Request{
		Model: j.Name, Seed: j.Seed, JSON: true,
		Messages: []fixtures.Message{
			{Role: fixtures.RoleSystem, Content: instructions},
			{Role: fixtures.RoleUser, Content: question(render(messages), statement, probe)},
		},
	})
}

// put asks a model, once more where the answer was malformed. What was asked and
// answered is kept with the run.
func put(ctx context.Context, record *replay.Record, model replay.Model, request *replay.Request) (*reply, error) {
	r := &reply{answer: answer{Verdict: replay.Unjudged}}
	var err error
	if r.input, err = record.Contexts.Put(request.Messages); err != nil {
		return nil, err
	}
	for range 2 {
		got, err := model.Complete(ctx, request)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			r.reason = err.Error()
			return r, nil
		}
		exchange := got.Exchange("judge")
		r.exchange = &exchange
		r.output = clip(got.Message.Content)
		parsed, err := parse(got.Message.Content)
		if err == nil {
			r.answer, r.reason = *parsed, ""
			return r, nil
		}
		r.reason = err.Error()
		request.Fresh = true
	}
	return r, nil
}

// clip bounds what is kept of an answer that is none.
func clip(text string) string {
	const most = 4000
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

// answerFits says whether a judge's answer to a probe is the expected one: the same
// words, or all words of the expected one among its own. "No" is no part of "unknown".
func answerFits(answer, expect string) bool {
	wanted, given := words(expect), words(answer)
	if len(wanted) == 0 || len(given) == 0 {
		return false
	}
	if wanted[0] == "yes" || wanted[0] == "no" {
		return given[0] == wanted[0]
	}
	for i := 0; i+len(wanted) <= len(given); i++ {
		if slices.Equal(given[i:i+len(wanted)], wanted) {
			return true
		}
	}
	return false
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

type answer struct {
	Answer  string
	Verdict replay.Verdict
}

// objectFields are the fields of one JSON object that names each of them once: two
// verdicts are none.
func objectFields(text string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("no JSON object")
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		key, ok := name.(string)
		if _, twice := fields[key]; twice || !ok {
			return nil, fmt.Errorf("field %v stands twice", name)
		}
		fields[key] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something stands after the object")
	}
	return fields, nil
}

// parse reads the judge's answer strictly: one JSON object with one known verdict,
// and nothing around it but space.
func parse(text string) (*answer, error) {
	malformed := fmt.Errorf("the judge's answer is not the JSON asked for: %.120q", text)
	fields, err := objectFields(text)
	if err != nil {
		return nil, malformed
	}
	var a answer
	if raw, ok := fields["answer"]; ok && json.Unmarshal(raw, &a.Answer) != nil {
		return nil, malformed
	}
	if raw, ok := fields["verdict"]; ok && json.Unmarshal(raw, &a.Verdict) != nil {
		return nil, malformed
	}
	switch a.Verdict {
	case replay.Supported, replay.Absent, replay.Contradicted:
		return &a, nil
	}
	return nil, fmt.Errorf("the judge's verdict is %.40q: want supported, absent or contradicted", a.Verdict)
}
