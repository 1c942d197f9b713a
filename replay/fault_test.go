package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// An episode that takes too long is a fault of the world and ends nothing but itself.
func TestAnEpisodeThatTakesTooLongIsAFault(t *testing.T) {
	set, recordings := manyFixtures(3)
	arms := []Arm{reference(), compacting(keepLast)}
	slow := set[1].ConversationID
	e := engine(t, modelFunc(func(ctx context.Context, r *Request) (*Reply, error) {
		if strings.Contains(r.Messages[0].Content, slow) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return replyBy(ctx, r)
	}), nil)
	e.Recording = recordings
	e.Settings.EpisodeTimeout = 100 * time.Millisecond
	dir := t.TempDir()
	folder := openFolder(t, dir, set, arms)
	defer mustClose(t, folder)
	if err := e.Play(t.Context(), folder, set, arms); err != nil {
		t.Fatal(err)
	}
	record, err := ReadRecord(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, episode := range record.Episodes {
		late := episode.ConversationID == slow
		if late != (episode.Status == Faulted) || late != strings.Contains(episode.Reason, "not over within limits.episode_timeout of 100ms") {
			t.Errorf("%s is %s: %s", episode.ConversationID, episode.Status, episode.Reason)
		}
	}
	if len(record.Episodes) != 6 {
		t.Errorf("%d episodes", len(record.Episodes))
	}
}

// The end of the run's own context is no fault of an episode.
func TestTheEndOfTheRunIsNoTimeout(t *testing.T) {
	set, recordings := manyFixtures(1)
	arms := []Arm{reference()}
	ctx, cancel := context.WithCancelCause(t.Context())
	e := engine(t, modelFunc(func(inner context.Context, _ *Request) (*Reply, error) {
		cancel(ErrInterrupted)
		<-inner.Done()
		return nil, inner.Err()
	}), nil)
	e.Recording, e.Settings.EpisodeTimeout = recordings, time.Hour
	folder := openFolder(t, t.TempDir(), set, arms)
	defer mustClose(t, folder)
	if err := e.Play(ctx, folder, set, arms); !errors.Is(err, ErrInterrupted) {
		t.Errorf("error %v", err)
	}
}

// What a provider's filter stopped, or its bound cut off, is no conduct of the agent.
func TestStoppedAnswersAreFaults(t *testing.T) {
	for finish, want := range map[string]string{
		"stop": "", "tool_calls": "", "": "",
		"content_filter": "content filter stopped the answer", "length": "cut the answer off after 9 tokens",
	} {
		rec := recording("S rules", "U one", "A two", "U three", "A four", "U five")
		e := engine(t, modelFunc(func(context.Context, *Request) (*Reply, error) {
			reply := say("I will")
			reply.FinishReason, reply.Usage.CompletionTokens = finish, 9
			return reply, nil
		}), rec)
		episode := playEpisode(t, e, fixtureOf("story", 2), reference())
		if (episode.Status == Faulted) != (want != "") || !strings.Contains(episode.Reason, want) {
			t.Errorf("finish reason %q: %s, %s", finish, episode.Status, episode.Reason)
		}
		if want != "" && len(episode.Exchanges) != 1 {
			t.Errorf("finish reason %q: what it cost is not kept", finish)
		}
	}
}
