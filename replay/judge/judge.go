// Package judge asks a model what became of the items in a compacted context: one
// closed question a call, about one item, against that context alone. It never
// learns which arm made the context.
package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

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
	// Progress hears how many of the decisions are judged; may be nil.
	Progress func(done, total int)
}

// decision is one item at one compaction of one episode.
type decision struct {
	episode    *replay.Episode
	compaction *replay.CompactionRecord
	item       *fixtures.Item
}

// Run judges every compaction decision of the folder's run that has no scored
// verdict yet, and journals the verdicts episode by episode. An item counts at a
// compaction that ran and that comes after the item's turn.
//
// It returns early only when the context ends or the folder cannot be written; a
// fault of the judge's provider, or a context that can't be read, makes an item
// unscored. What was answered before it returns is journaled.
func (j *Judge) Run(ctx context.Context, folder *replay.Folder) error {
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil {
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
	done := 0
	group, inner := errgroup.WithContext(ctx)
	for _, decisions := range todo {
		group.Go(func() error {
			err := j.judge(inner, folder, record, decisions, slots)
			mu.Lock()
			defer mu.Unlock()
			done += len(decisions)
			if err == nil && j.Progress != nil {
				j.Progress(done, total)
			}
			return err
		})
	}
	return group.Wait()
}

// judge finds and journals the verdicts of one episode.
func (j *Judge) judge(ctx context.Context, folder *replay.Folder, record *replay.Record, decisions []decision, slots chan struct{}) error {
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
			judgements[i], err = j.decide(inner, record, d)
			return err
		})
	}
	err := group.Wait()
	decided := slices.DeleteFunc(judgements, func(j *replay.Judgement) bool { return j == nil })
	return errors.Join(err, folder.Judgements.Append(decided...))
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
			if c.Status != replay.Compacted {
				continue
			}
			for k := range f.MustSurvive {
				item := &f.MustSurvive[k]
				key := replay.DecisionKey{Key: e.Key, Compaction: c.Index, Item: item.ID}
				if item.Turn <= c.AfterTurn && !scored[key] {
					decisions = append(decisions, decision{e, c, item})
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
	messages, err := record.Contexts.Get(d.compaction.After)
	if err != nil {
		judgement.Verdict, judgement.Reason = replay.Unjudged, err.Error()
		return judgement, nil
	}
	how, role := find(messages, recordedUpTo(record, d.episode, d.compaction), d.item.Literal)
	if how == plain {
		judgement.Verdict, judgement.Role = replay.Verbatim, role
		return judgement, nil
	}
	if err := j.ask(ctx, judgement, messages, d); err != nil {
		return nil, err
	}
	// The literal stands there. Only the judge can tell whether the words around it
	// turn it around; that they leave it alone or that it missed it changes nothing.
	if how == amended && (judgement.Verdict == replay.Supported || judgement.Verdict == replay.Absent) {
		judgement.Verdict, judgement.Role, judgement.Answer = replay.Verbatim, role, ""
	}
	return judgement, nil
}

// ask asks the judge, once more where the answer was malformed.
func (j *Judge) ask(ctx context.Context, judgement *replay.Judgement, messages []fixtures.Message, d decision) error {
	request := &replay.Request{
		Model: j.Name, Seed: j.Seed, JSON: true, Replicate: d.episode.Replicate,
		Messages: []fixtures.Message{
			{Role: fixtures.RoleSystem, Content: instructions},
			{Role: fixtures.RoleUser, Content: question(render(messages), d.item.Literal, d.item.Probe)},
		},
	}
	judgement.Verdict = replay.Unjudged
	for range 2 {
		reply, err := j.Model.Complete(ctx, request)
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			judgement.Reason = err.Error()
			return nil
		}
		exchange := reply.Exchange("judge")
		judgement.Exchange = &exchange
		answer, err := parse(reply.Message.Content)
		if err == nil {
			judgement.Verdict, judgement.Answer, judgement.Reason = answer.Verdict, answer.Answer, ""
			return nil
		}
		judgement.Reason = err.Error()
		request.Fresh = true
	}
	return nil
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
