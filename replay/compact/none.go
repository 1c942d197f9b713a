package compact

import (
	"context"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// None leaves the context as it is.
type None struct{}

// Compact returns Unchanged.
func (None) Compact(ctx context.Context, _ *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return unchanged(NameNone, "this compactor never compacts"), nil
}

// Digest names what the output depends on.
func (None) Digest() fixtures.Hash { return digestOf(NameNone, version) }
