package replay

import (
	"context"
	"fmt"
)

// compactGuarded asks a compactor. One that returns nothing or panics has failed, which is a
// finding about it and must not end the night.
func compactGuarded(ctx context.Context, compactor Compactor, request *CompactRequest) (out *Compaction, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			out, err = &Compaction{Status: Failed, Reason: fmt.Sprintf("the compactor panicked: %v", fault)}, nil
		}
	}()
	out, err = compactor.Compact(ctx, request)
	if out == nil && err == nil {
		out = &Compaction{Status: Failed, Reason: "the compactor returned no compaction and no error"}
	}
	return out, err
}
