package rubric

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Rater asks the probes and has the answers graded.
type Rater struct {
	// Agent answers from the compacted context, Judge grades.
	Agent, Judge           replay.Model
	AgentModel, JudgeModel string
	// Rubric is the one to grade by; nil means the shipped one.
	Rubric *Rubric
	Seed   int
	// Concurrency is how many probes are asked at once; it changes no result.
	Concurrency int
	// Progress hears how many of the probes are rated; may be nil.
	Progress func(done, total int)
	// Drain is closed when no further probe is to be asked; what is in flight ends. Nil
	// for never.
	Drain <-chan struct{}
}

// task is one probe at one compaction of one episode.
type task struct {
	episode    *replay.Episode
	compaction *replay.CompactionRecord
	probe      replay.Probe
	// unread says why no probe could be made.
	unread error
}

// Run rates every probe of the folder's run that has no score by this rubric yet, and
// journals each rating when it is there.
//
// It returns early only when the context ends, when it is drained, with
// [replay.ErrInterrupted], or when the folder cannot be read or written; a fault of a
// provider makes a probe unscored.
func (r *Rater) Run(ctx context.Context, folder *replay.Folder) (err error) {
	rubric := r.Rubric
	if rubric == nil {
		if rubric, err = Shipped(); err != nil {
			return err
		}
	}
	record, err := replay.ReadRecord(folder.Dir)
	if err != nil {
		return err
	}
	journal, err := replay.OpenJournal[*replay.Rating](filepath.Join(folder.Dir, replay.RatingsFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	record.Contexts = folder.Contexts
	journal.Names(folder.Contexts)

	tasks := r.open(rubric, record)
	var mu sync.Mutex
	done := 0
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(max(1, r.Concurrency))
	for _, t := range tasks {
		group.Go(func() error {
			if inner.Err() != nil {
				return stopped(inner)
			}
			if replay.Drained(r.Drain) {
				return nil
			}
			rating, err := r.rate(inner, rubric, record, t)
			if err != nil {
				return err
			}
			if err := journal.Append(rating); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if r.Progress != nil {
				r.Progress(done, len(tasks))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if done < len(tasks) {
		return replay.ErrInterrupted
	}
	return nil
}

// open lists the probes without a score: those that arms share stand together, in an
// order of the arms that the seed shuffles, so that no arm is always asked first.
func (r *Rater) open(rubric *Rubric, record *replay.Record) []task {
	scored := map[replay.RatingKey]bool{}
	for _, rating := range record.Ratings {
		scored[rating.Identity()] = rating.Status == replay.RatingScored
	}
	type place struct {
		fixture    fixtures.Hash
		compaction int
		probe      string
	}
	var order []place
	shared := map[place][]task{}
	for _, e := range record.Episodes {
		if e.Replicate > 0 || !e.Finished() {
			continue // further plays confirm what the agent did
		}
		for i := range e.Compactions {
			c := &e.Compactions[i]
			if c.Status != replay.Compacted {
				continue
			}
			for _, t := range r.tasks(rubric, record, e, c) {
				if scored[replay.RatingKey{Key: e.Key, Compaction: c.Index, Probe: t.probe.ID, Rubric: rubric.ID()}] {
					continue
				}
				at := place{e.Fixture, c.Index, t.probe.ID}
				if shared[at] == nil {
					order = append(order, at)
				}
				shared[at] = append(shared[at], t)
			}
		}
	}
	var list []task
	for _, at := range order {
		group := shared[at]
		name := fmt.Sprintf("%s %d %s", at.fixture, at.compaction, at.probe)
		random := rand.New(rand.NewPCG(uint64(r.Seed), number(name)))
		random.Shuffle(len(group), func(a, b int) { group[a], group[b] = group[b], group[a] })
		list = append(list, group...)
	}
	return list
}

// number is a number that stands for a text.
func number(text string) uint64 {
	n, err := strconv.ParseUint(string(fixtures.HashBytes([]byte(text))), 16, 64)
	if err != nil { // a hash is sixteen hexadecimal digits
		return 0
	}
	return n
}

// tasks are the probes of one compaction.
func (r *Rater) tasks(rubric *Rubric, record *replay.Record, e *replay.Episode, c *replay.CompactionRecord) []task {
	before, err := record.Contexts.Get(c.Before)
	if err != nil {
		return []task{{episode: e, compaction: c, unread: err}}
	}
	after, err := record.Contexts.Get(c.After)
	if err != nil {
		return []task{{episode: e, compaction: c, unread: err}}
	}
	var list []task
	for _, probe := range rubric.Probes(before, after) {
		list = append(list, task{episode: e, compaction: c, probe: probe})
	}
	return list
}

func (r *Rater) rate(ctx context.Context, rubric *Rubric, record *replay.Record, t task) (*replay.Rating, error) {
	rating := &replay.Rating{
		Key: t.episode.Key, ConversationID: t.episode.ConversationID,
		Compaction: t.compaction.Index, AfterTurn: t.compaction.AfterTurn, Context: t.compaction.After,
		Probe: t.probe, Status: replay.RatingUnscored, Rubric: rubric.ID(), Agent: r.AgentModel, Judge: r.JudgeModel,
	}
	if t.unread != nil {
		rating.Reason = fmt.Sprintf("no probe was made: %v", t.unread)
		return rating, nil
	}
	after, err := record.Contexts.Get(t.compaction.After)
	if err != nil {
		rating.Reason = err.Error()
		return rating, nil
	}
	if rating.Response, err = r.answer(ctx, rubric, after, rating); err != nil || rating.Response == "" {
		return rating, err
	}
	return rating, r.grade(ctx, rubric, record, after, rating)
}

// answer asks the agent. Where it gives no answer, the rating says why.
func (r *Rater) answer(ctx context.Context, rubric *Rubric, memory []fixtures.Message, rating *replay.Rating) (string, error) {
	reply, err := r.Agent.Complete(ctx, &replay.Request{
		Model: r.AgentModel, Seed: r.Seed, Messages: rubric.probeMessages(memory, &rating.Probe),
	})
	if err != nil {
		if ctx.Err() != nil {
			return "", stopped(ctx)
		}
		rating.Reason = fmt.Sprintf("the agent: %v", err)
		return "", nil
	}
	rating.Exchanges = append(rating.Exchanges, reply.Exchange(ForProbe))
	text := strings.TrimSpace(reply.Message.Content)
	if text == "" {
		rating.Reason = fmt.Sprintf("the agent answered nothing (finish reason %q, %d tool calls)", reply.FinishReason, len(reply.Message.ToolCalls))
	}
	return text, nil
}

// What the exchanges of ratings are for.
const (
	ForProbe  = "rubric answer"
	ForGrader = "rubric grade"
)

// mostOutput bounds what is kept of a grader's answer, in bytes.
const mostOutput = 32 << 10

// grade asks the grader, once more where its answer is malformed.
func (r *Rater) grade(ctx context.Context, rubric *Rubric, record *replay.Record, memory []fixtures.Message, rating *replay.Rating) error {
	messages, err := rubric.graderMessages(memory, &rating.Probe, rating.Response)
	if err != nil {
		return err
	}
	if rating.Input, err = record.Contexts.Put(messages); err != nil {
		return err
	}
	request := &replay.Request{Model: r.JudgeModel, Seed: r.Seed, JSON: true, Messages: messages}
	asked := rubric.criteria(rating.Probe.Kind)
	for range 2 {
		reply, err := r.Judge.Complete(ctx, request)
		if err != nil {
			if ctx.Err() != nil {
				return stopped(ctx)
			}
			rating.Reason = fmt.Sprintf("the grader: %v", err)
			return nil
		}
		rating.Exchanges = append(rating.Exchanges, reply.Exchange(ForGrader))
		rating.Output = clip(reply.Message.Content, mostOutput)
		g, err := parse(reply.Message.Content, asked)
		if err == nil {
			dimensions, overall := sums(g.scores, asked)
			rating.Status, rating.Reason = replay.RatingScored, ""
			rating.Scores, rating.Dimensions, rating.Overall = g.scores, dimensions, &overall
			rating.Disagreement = g.disagreement(dimensions, overall, asked)
			return nil
		}
		rating.Reason = err.Error()
		request.Fresh = true // the stored answer would be the same
	}
	return nil
}

func stopped(ctx context.Context) error { return fmt.Errorf("rating probes: %w", context.Cause(ctx)) }
