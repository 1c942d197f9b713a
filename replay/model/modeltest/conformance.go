package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// TestModel checks what the engine relies on: every shape of conversation is taken, the
// request is left alone, the same request has the same answer from many goroutines at
// once, an answer is its caller's own, calls of tools have ids of their own and arguments
// that are JSON, counts of tokens make sense, and an ended context ends the call.
//
// The model behind newModel must answer the same to the same, in words, and by calling
// the first tool where the request has tools and the user spoke last. How well it answers
// is not asked here.
func TestModel(t *testing.T, newModel func(*testing.T) replay.Model) {
	t.Helper()
	for _, c := range Requests() {
		t.Run(c.Name, func(t *testing.T) {
			model := newModel(t)
			first := completeOnce(t, model, &c.Request)
			if err := Check(&c.Request, first); err != nil {
				t.Error(err)
			}
			if c.Calls != (len(first.Message.ToolCalls) > 0) {
				t.Errorf("it called %d tools", len(first.Message.ToolCalls))
			}
			before := said(first)
			first.Message.Content = "changed by the caller"
			if again := said(completeOnce(t, model, &c.Request)); !reflect.DeepEqual(before, again) {
				t.Errorf("the same request had two answers:\n%+v\n%+v", before, again)
			}
		})
	}
	t.Run("concurrent", func(t *testing.T) {
		model := newModel(t)
		requests := Requests()
		alone := make([]fixtures.Message, len(requests))
		for i := range requests {
			alone[i] = said(completeOnce(t, model, &requests[i].Request))
		}
		var wait sync.WaitGroup
		for range 4 {
			for i := range requests {
				wait.Go(func() {
					together, err := model.Complete(t.Context(), &requests[i].Request)
					if err != nil {
						t.Errorf("%s: %v", requests[i].Name, err)
					} else if !reflect.DeepEqual(alone[i], said(together)) {
						t.Errorf("%s: another answer among others than alone", requests[i].Name)
					}
				})
			}
		}
		wait.Wait()
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		request := Requests()[0].Request
		request.Seed = 4242 // nobody has asked this before
		reply, err := newModel(t).Complete(ctx, &request)
		if !errors.Is(err, context.Canceled) || reply != nil {
			t.Errorf("with a cancelled context: reply %+v, error %v", reply, err)
		}
	})
}

// said is what must be the same each time: what a model said, but for the ids of its
// calls, which some providers count anew.
func said(reply *replay.Reply) fixtures.Message {
	m := reply.Message
	m.ToolCalls = append([]fixtures.ToolCall(nil), m.ToolCalls...)
	for i := range m.ToolCalls {
		m.ToolCalls[i].ID = ""
	}
	return m
}

func completeOnce(t *testing.T, model replay.Model, request *replay.Request) *replay.Reply {
	t.Helper()
	before := snapshot(t, request)
	reply, err := model.Complete(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if after := snapshot(t, request); before != after {
		t.Errorf("the request was changed:\n%s\n%s", before, after)
	}
	return reply
}

func snapshot(t *testing.T, request *replay.Request) string {
	t.Helper()
	data, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Check says what is wrong with a reply to a request.
func Check(request *replay.Request, reply *replay.Reply) error {
	m := reply.Message
	switch {
	case m.Role != fixtures.RoleAssistant:
		return errors.New("the answer's role is " + m.Role)
	case m.Turn != 0:
		return errors.New("the answer has a turn, which only the engine counts")
	case m.Content == "" && len(m.ToolCalls) == 0:
		return errors.New("the answer is empty")
	case reply.FinishReason == "":
		return errors.New("there is no finish reason")
	case len(m.ToolCalls) > 0 && reply.FinishReason != "tool_calls":
		return errors.New("tools are called, and the finish reason is " + reply.FinishReason)
	case reply.Usage.PromptTokens < 0 || reply.Usage.CompletionTokens < 0:
		return errors.New("a count of tokens is negative")
	case reply.Usage.CachedTokens < 0 || reply.Usage.CachedTokens > reply.Usage.PromptTokens:
		return errors.New("more tokens of the prompt are cached than it has")
	}
	known := map[string]bool{}
	for _, tool := range request.Tools {
		known[tool.Name] = true
	}
	ids := map[string]bool{}
	for _, call := range m.ToolCalls {
		switch {
		case call.ID == "" || ids[call.ID]:
			return errors.New("a call's id is empty or taken: " + call.ID)
		case !known[call.Name]:
			return errors.New("a tool is called that the request does not have: " + call.Name)
		case !json.Valid(call.Arguments):
			return errors.New("a call's arguments are no JSON")
		}
		ids[call.ID] = true
	}
	if request.JSON && !json.Valid([]byte(m.Content)) {
		return errors.New("the answer is no JSON, and JSON was asked for")
	}
	return nil
}
