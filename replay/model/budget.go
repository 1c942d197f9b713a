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
	// CacheWrite is for prompt tokens that the provider took into its cache and counts
	// apart; 0 means Input.
	CacheWrite float64 `json:"cache_write,omitempty" yaml:"cache_write"`
	Output     float64 `json:"output" yaml:"output"`
}

// Cost is what an answer cost, in US dollars.
func (p Price) Cost(u replay.Usage) float64 {
	cached := p.CachedInput
	if cached == 0 {
		cached = p.Input
	}
	write := p.CacheWrite
	if write == 0 {
		write = p.Input
	}
	fresh := float64(u.PromptTokens - u.CachedTokens - u.WrittenTokens)
	return (fresh*p.Input + float64(u.CachedTokens)*cached + float64(u.WrittenTokens)*write + float64(u.CompletionTokens)*p.Output) / 1e6
}

// ErrBudget says that the money or the tokens of a run are spent.
var ErrBudget = errors.New("the run's budget is spent")

// Budget is what a run may spend; its models share it. It is safe for concurrent use.
type Budget struct {
	limit      float64 // US dollars, 0 for no limit
	tokenLimit int     // 0 for no limit

	mu     sync.Mutex
	spent  float64
	tokens int
}

// NewBudget allows limit US dollars; 0 means no limit.
func NewBudget(limit float64) *Budget { return &Budget{limit: limit} }

// LimitTokens allows so many tokens of prompts and answers together; 0 means no limit. It
// is to be called before the first request.
func (b *Budget) LimitTokens(n int) { b.tokenLimit = n }

// Left says with [ErrBudget] that nothing is left.
func (b *Budget) Left() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.limit > 0 && b.spent >= b.limit:
		return fmt.Errorf("%w: limits.max_cost_usd is reached", ErrBudget)
	case b.tokenLimit > 0 && b.tokens >= b.tokenLimit:
		return fmt.Errorf("%w: limits.max_tokens is reached", ErrBudget)
	}
	return nil
}

// Spend takes from the budget what was paid elsewhere, such as before a run went on.
func (b *Budget) Spend(cost float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent += cost
}

// SpendTokens is Spend for tokens.
func (b *Budget) SpendTokens(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens += n
}

// Budgeted is a model that stops asking when the budget is spent. What is in flight
// then is still paid for.
type Budgeted struct {
	model  replay.Model
	budget *Budget
	prices map[string]Price
	// Free says that a model without a price costs nothing, as on the embedded provider.
	Free bool
}

// NewBudgeted wraps a model with the prices by model name. Answers of a model without
// a price have no cost that is known and take no money from the budget.
func NewBudgeted(model replay.Model, budget *Budget, prices map[string]Price) *Budgeted {
	return &Budgeted{model: model, budget: budget, prices: prices}
}

// Complete asks unless the budget is spent.
func (b *Budgeted) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	if err := b.budget.Left(); err != nil {
		return nil, fmt.Errorf("asking model %s: %w", request.Model, err)
	}
	reply, err := b.model.Complete(ctx, request)
	if err != nil {
		return nil, err
	}
	b.budget.SpendTokens(reply.Usage.Total())
	price, known := b.prices[request.Model]
	if !known && !b.Free {
		return reply, nil
	}
	cost := price.Cost(reply.Usage)
	b.budget.Spend(cost)
	reply.CostUSD = &cost
	return reply, nil
}
