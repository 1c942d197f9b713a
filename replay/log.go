package replay

import (
	"context"
	"log/slog"
)

// logEpisode logs an episode that stands in the journal. Why an episode ended as it did
// may quote what was said, and stands in the journal alone.
func (e *Engine) logEpisode(ctx context.Context, episode *Episode) {
	if e.Log == nil {
		return
	}
	level := slog.LevelInfo
	if episode.Status == Faulted {
		level = slog.LevelWarn
	}
	e.Log.Log(ctx, level, "episode is journaled", "fixture", episode.ConversationID, "arm", episode.Arm, "replicate", episode.Replicate,
		"status", episode.Status, "end", episode.End, "same_as", episode.SameAs, "compactions", len(episode.Compactions), "steps", len(episode.Steps),
		"context_tokens", episode.ContextTokens, "answers", len(episode.Exchanges))
}

// logCompaction logs a compaction that ended, however.
func (p *player) logCompaction(ctx context.Context, c *CompactionRecord) {
	log := p.engine.Log
	if log == nil {
		return
	}
	level := slog.LevelInfo
	if c.Status != Compacted {
		level = slog.LevelWarn
	}
	log.Log(ctx, level, "context was compacted", "fixture", p.episode.ConversationID, "arm", p.episode.Arm, "replicate", p.episode.Replicate,
		"compaction", c.Index+1, "after_turn", c.AfterTurn, "status", c.Status, "tokens_before", c.TokensBefore, "tokens_after", c.TokensAfter, "budget_tokens", c.Budget)
	log.DebugContext(ctx, "contexts of the compaction", "fixture", p.episode.ConversationID, "arm", p.episode.Arm, "compaction", c.Index+1, "before", c.Before, "after", c.After)
}
