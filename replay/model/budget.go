package model

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/doubletake-dev/doubletake/replay"
)

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input float64 `json:"input" yaml:"input"`
	// CachedInput is for prompt tokens that the provider's prefix cache served; 0
	// means Input.
	CachedInput float64 `json:"cached_input,omitempty" yaml:"cached_input"`
	Output      float64 `json:"output" yaml:"output"`
}

// Cost is what an answer cost, in US dollars.
func (p Price) Cost(u replay.Usage) float64 {
	cached := p.CachedInput
	if cached == 0 {
		cached = p.Input
	}
	fresh := float64(u.PromptTokens - u.CachedTokens)
	return (fresh*p.Input + float64(u.CachedTokens)*cached + float64(u.CompletionTokens)*p.Output) / 1e6
}

// ErrBudget says that the money of a run is spent.
var ErrBudget = errors.New("limits.max_cost_usd is reached")

// Budget is the money of a run; its models share it. It is safe for concurrent use.
type Budget struct {
	limit float64

	mu    sync.Mutex
	spent float64
}

// NewBudget allows limit US dollars; 0 means no limit.
func NewBudget(limit float64) *Budget { return &Budget{limit: limit} }

func (b *Budget) left() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.limit <= 0 || b.spent < b.limit
}

// Spend takes from the budget what was paid elsewhere, such as before a run went on.
func (b *Budget) Spend(cost float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += cost
}

// Budgeted is a model that stops asking when the budget is spent. What is in flight
// then is still paid for.
type Budgeted struct {
	model  replay.Model
	budget *Budget
	prices map[string]Price
}

// NewBudgeted wraps a model with the prices by model name. Answers of a model without
// a price have no cost and take nothing from the budget.
func NewBudgeted(model replay.Model, budget *Budget, prices map[string]Price) *Budgeted {
	return &Budgeted{model, budget, prices}
}

// Complete asks unless the budget is spent.
func (b *Budgeted) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	if !b.budget.left() {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, ErrBudget)
	}
	reply, err := b.model.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	price, known := b.prices[request.Model]
	if !known {
		return reply, nil
	}
	cost := price.Cost(reply.Usage)
	b.budget.Spend(cost)
	reply.CostUSD = &cost
	return reply, nil
}
