package compacttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// TestCompactor checks what the engine relies on: the input is left alone, the
// same input has the same output from many goroutines at once, kept messages are
// those of the input under their ids, no call is cut from its result, what did
// not work has a reason, and the output can be compacted again.
//
// Whether a compactor keeps what matters is not asked here.
func TestCompactor(t *testing.T, newCompactor func(*testing.T) replay.Compactor) {
	t.Helper()
	for _, c := range Conversations() {
		for _, budget := range []int{0, 1, 150, 100_000} {
			t.Run(fmt.Sprintf("%s/%d tokens", c.Name, budget), func(t *testing.T) {
				compactor := newCompactor(t)
				req := c.Request
				req.BudgetTokens = budget
				first := compactOnce(t, compactor, &req)
				if again := compactOnce(t, compactor, &req); !reflect.DeepEqual(first, again) {
					t.Errorf("the same input gave two outputs:\n%+v\n%+v", first, again)
				}
				if first.Status != replay.Compacted {
					return
				}
				second := req
				second.Compaction++
				second.Messages, second.PriorState, second.Recorded = first.Messages, first.State, nil
				if out := compactOnce(t, compactor, &second); out.Status == replay.Failed {
					t.Errorf("it breaks on its own output: %s", out.Reason)
				}
				second.Messages = append(slices.Clip(first.Messages), news(req.AfterTurn)...)
				second.AfterTurn += 2
				compactOnce(t, compactor, &second)
			})
		}
	}
	t.Run("concurrent", func(t *testing.T) {
		compactor := newCompactor(t)
		conversations := Conversations()
		alone := make([]*replay.Compaction, len(conversations))
		for i := range conversations {
			alone[i] = compactOnce(t, compactor, &conversations[i].Request)
		}
		var wait sync.WaitGroup
		for range 4 {
			for i := range conversations {
				wait.Go(func() {
					together, err := compactor.Compact(t.Context(), &conversations[i].Request)
					if err != nil {
						t.Errorf("%s: %v", conversations[i].Name, err)
					} else if !reflect.DeepEqual(alone[i], together) {
						t.Errorf("%s: another output among others than alone", conversations[i].Name)
					}
				})
			}
		}
		wait.Wait()
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		req := Conversations()[0].Request
		if _, err := newCompactor(t).Compact(ctx, &req); !errors.Is(err, context.Canceled) {
			t.Errorf("with a cancelled context the error is %v", err)
		}
	})
}

func compactOnce(t *testing.T, compactor replay.Compactor, req *replay.CompactRequest) *replay.Compaction {
	t.Helper()
	before := snapshot(t, req)
	out, err := compactor.Compact(t.Context(), req)
	if err != nil {
		t.Fatalf("error %v; what a compactor does wrong belongs in the status", err)
	}
	if after := snapshot(t, req); before != after {
		t.Errorf("the input was changed:\n%s\n%s", before, after)
	}
	if err := Check(req, out); err != nil {
		t.Errorf("%s: %v", out.Status, err)
	}
	return out
}

func snapshot(t *testing.T, req *replay.CompactRequest) string {
	t.Helper()
	type message struct { // json would see the embedded message alone
		ID, Kind  string
		SourceIDs []string
		Message   fixtures.Message
	}
	all := struct {
		Request  replay.CompactRequest
		Messages []message
	}{Request: *req}
	all.Request.Messages = nil
	for _, m := range req.Messages {
		all.Messages = append(all.Messages, message{m.ID, m.Kind, m.SourceIDs, m.Message})
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Check says what is wrong with a compaction of a request, whatever its status.
func Check(req *replay.CompactRequest, out *replay.Compaction) error {
	switch out.Status {
	case replay.Compacted:
	case replay.Unchanged, replay.Refused, replay.Failed:
		if len(out.Messages) > 0 || len(out.DroppedIDs) > 0 {
			return errors.New("there are messages or dropped ids, but nothing was compacted")
		}
		if out.Reason == "" {
			return errors.New("there is no reason")
		}
		return nil
	default:
		return fmt.Errorf("unknown status %q", out.Status)
	}
	if len(out.Messages) == 0 {
		return errors.New("nothing is left")
	}
	input := map[string]*replay.CompactMessage{}
	for i := range req.Messages {
		input[req.Messages[i].ID] = &req.Messages[i]
	}
	seen := map[string]bool{}
	for i := range out.Messages {
		m := &out.Messages[i]
		if m.ID == "" || seen[m.ID] {
			return fmt.Errorf("message %d has the id %q, which is empty or taken", i, m.ID)
		}
		seen[m.ID] = true
		same := input[m.ID]
		switch m.Kind {
		case replay.KindKept:
			if same == nil || !reflect.DeepEqual(same.Message, m.Message) {
				return fmt.Errorf("message %s is called kept, but is not what the input holds under that id", m.ID)
			}
		case replay.KindSummary:
			if same != nil {
				return fmt.Errorf("message %s is new, but has the id of one of the input", m.ID)
			}
		case replay.KindOpaque:
		default:
			return fmt.Errorf("message %s has the kind %q", m.ID, m.Kind)
		}
		if m.Role != fixtures.RoleUser && m.Role != fixtures.RoleAssistant && m.Role != fixtures.RoleTool {
			return fmt.Errorf("message %s has the role %q", m.ID, m.Role)
		}
	}
	for i := range req.Messages {
		id := req.Messages[i].ID
		if seen[id] == slices.Contains(out.DroppedIDs, id) {
			return fmt.Errorf("message %s is neither kept nor dropped, or both", id)
		}
	}
	if replay.CheckPairs(replay.Texts(req.Messages)) == nil {
		if err := replay.CheckPairs(replay.Texts(out.Messages)); err != nil {
			return fmt.Errorf("broken pairs: %w", err)
		}
	}
	return nil
}
