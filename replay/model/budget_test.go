package model

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/replay"
)

type fixedUsage replay.Usage

func (u fixedUsage) Complete(context.Context, *replay.Request) (*replay.Reply, error) {
	return &replay.Reply{Usage: replay.Usage(u)}, nil
}

func TestPriceCost(t *testing.T) {
	tests := []struct {
		name  string
		price Price
		usage replay.Usage
		want  float64
	}{
		{"nothing", Price{Input: 2, Output: 8}, replay.Usage{}, 0},
		{"a million each", Price{Input: 2, Output: 8}, replay.Usage{PromptTokens: 1e6, CompletionTokens: 1e6}, 10},
		{"half cached", Price{Input: 2, CachedInput: 0.5, Output: 8}, replay.Usage{PromptTokens: 1e6, CachedTokens: 5e5}, 1.25},
		{"a quarter each read and written", Price{Input: 4, CachedInput: 0.4, CacheWrite: 5, Output: 20}, replay.Usage{PromptTokens: 1e6, CachedTokens: 25e4, WrittenTokens: 25e4}, 3.35},
		{"written without a price of its own", Price{Input: 2}, replay.Usage{PromptTokens: 1e6, WrittenTokens: 5e5}, 2},
		{"cached without a price of its own", Price{Input: 2}, replay.Usage{PromptTokens: 1e6, CachedTokens: 5e5}, 2},
	}
	for _, tt := range tests {
		if got := tt.price.Cost(tt.usage); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestBudgetEnds(t *testing.T) {
	budget := NewBudget(0.03)
	m := NewBudgeted(fixedUsage{PromptTokens: 10_000}, budget, map[string]Price{"m": {Input: 1}}) // a cent an answer
	for i := range 5 {
		_, err := m.Complete(context.Background(), &replay.Request{Model: "m"})
		if spent := i >= 3; spent != errors.Is(err, ErrBudget) {
			t.Errorf("answer %d: error %v", i+1, err)
		}
	}
	free := NewBudgeted(fixedUsage{PromptTokens: 10_000}, NewBudget(0), map[string]Price{"": {Input: 1e6}})
	if _, err := free.Complete(context.Background(), &replay.Request{}); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

func TestTokensEnd(t *testing.T) {
	budget := NewBudget(0)
	budget.LimitTokens(25_000)
	budget.SpendTokens(5_000) // before the run went on
	m := NewBudgeted(fixedUsage{PromptTokens: 9_000, CompletionTokens: 1_000}, budget, nil)
	for i := range 4 {
		_, err := m.Complete(context.Background(), &replay.Request{Model: "m"})
		if spent := i >= 2; spent != errors.Is(err, ErrBudget) {
			t.Errorf("answer %d: error %v", i+1, err)
		}
		if err != nil && !strings.Contains(err.Error(), "limits.max_tokens is reached") {
			t.Errorf("error %v", err)
		}
	}
}

// TestFree asks models of an endpoint that costs nothing: a cost of zero is known, and a
// price that was given all the same counts.
func TestFree(t *testing.T) {
	m := NewBudgeted(fixedUsage{PromptTokens: 10_000}, NewBudget(0), map[string]Price{"priced": {Input: 1}})
	m.Free = true
	for name, want := range map[string]float64{"other": 0, "priced": 0.01} {
		reply, err := m.Complete(t.Context(), &replay.Request{Model: name})
		if err != nil || reply.CostUSD == nil || *reply.CostUSD != want {
			t.Errorf("%s: %+v, %v; want a cost of %v", name, reply, err, want)
		}
	}
}
