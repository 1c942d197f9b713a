package model

import (
	"context"
	"errors"
	"log/slog"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Logged is a model that logs what it is asked and what comes back: whom, for what, under
// which key, whether the answer was stored, how long it took. Contents stand in no record;
// at debug level there are their hash and size. Keys of providers are never seen here.
type Logged struct {
	Model replay.Model
	Log   *slog.Logger
	// Purpose says what the model is asked for, as an exchange does: agent, judge, compactor.
	Purpose string
}

// Complete asks the model and logs how that ended.
func (l *Logged) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	log := l.Log.With("purpose", l.Purpose, "model", request.Model)
	if log.Enabled(ctx, slog.LevelDebug) {
		size := 0
		for i := range request.Messages {
			size += len(request.Messages[i].Content)
		}
		hash, err := fixtures.HashJSON(request.Messages)
		if err != nil {
			return nil, err // the conversation is none that could be sent
		}
		log.DebugContext(ctx, "model is asked", "messages", len(request.Messages), "tools", len(request.Tools), "content_bytes", size, "content_hash", hash,
			"seed", request.Seed, "replicate", request.Replicate, "fresh", request.Fresh)
	}
	reply, err := l.Model.Complete(ctx, request)
	if err != nil {
		log.WarnContext(ctx, "model did not answer", faultAttributes(err)...)
		return nil, err
	}
	attributes := []any{"key", reply.Key, "cached", reply.Stored, "finish_reason", reply.FinishReason, "tool_calls", len(reply.Message.ToolCalls),
		"prompt_tokens", reply.Usage.PromptTokens, "completion_tokens", reply.Usage.CompletionTokens}
	if reply.LatencyMS != nil {
		attributes = append(attributes, "latency_ms", *reply.LatencyMS)
	}
	if reply.CostUSD != nil {
		attributes = append(attributes, "cost_usd", *reply.CostUSD)
	}
	log.InfoContext(ctx, "model answered", attributes...)
	if log.Enabled(ctx, slog.LevelDebug) {
		log.DebugContext(ctx, "answer", "key", reply.Key, "content_bytes", len(reply.Message.Content), "content_hash", fixtures.HashBytes([]byte(reply.Message.Content)))
	}
	return reply, nil
}

// faultAttributes says what is known of a fault. What a provider wrote may quote the
// conversation, and is left out.
func faultAttributes(err error) []any {
	var provider *ProviderError
	if !errors.As(err, &provider) {
		return []any{"error", err.Error()}
	}
	attributes := []any{"status", provider.Status}
	if provider.RetryAfter > 0 {
		attributes = append(attributes, "retry_after", provider.RetryAfter)
	}
	if provider.Kind != nil {
		attributes = append(attributes, "kind", provider.Kind.Error())
	}
	if provider.Parameter != "" {
		attributes = append(attributes, "parameter", provider.Parameter)
	}
	return attributes
}
