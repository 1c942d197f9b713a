package cluster

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// FullError says that the cluster has no room for what was to be stored.
type FullError struct {
	// Stream is the stream that takes nothing more. That of a bucket is called KV_ and the
	// bucket's name, that of large objects OBJ_ and theirs.
	Stream string
	err    error
}

func (e *FullError) Error() string {
	what := "the stream " + e.Stream
	for _, of := range []string{"KV_", "OBJ_"} {
		if bucket, is := strings.CutPrefix(e.Stream, of); is {
			what = fmt.Sprintf("the bucket %s (stream %s)", bucket, e.Stream)
		}
	}
	why := e.err.Error()
	if api := new(jetstream.APIError); errors.As(e.err, &api) {
		why = fmt.Sprintf("%s (err_code %d)", api.Description, api.ErrorCode)
	}
	return fmt.Sprintf("%s is full: %s; give it room (its max_bytes, or what the account and the servers may store)", what, why)
}

func (e *FullError) Unwrap() error { return e.err }

// The server's codes for what it does not store for want of room.
const (
	codeAccount   jetstream.ErrorCode = 10002 // the account may store no more
	codeResources jetstream.ErrorCode = 10023 // this server may store no more; another one may
	codeMemory    jetstream.ErrorCode = 10028
	codeStorage   jetstream.ErrorCode = 10047
	codeStore     jetstream.ErrorCode = 10077 // the stream's own bounds, by what is said of it
)

// room makes an error of storing into a stream a [FullError] where it is one.
func room(stream string, err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case codeAccount, codeResources, codeMemory, codeStorage:
	case codeStore:
		if !strings.HasPrefix(api.Description, "maximum ") { // bytes, messages, messages per subject
			return err
		}
	default:
		return err
	}
	return &FullError{stream, err}
}

// roomIn is room for a bucket.
func roomIn(bucket jetstream.KeyValue, err error) error { return room("KV_"+bucket.Bucket(), err) }

// lasting says that something is full, and that it does not help to try again at once.
func lasting(err error) bool {
	var full *FullError
	return errors.As(err, &full) && !hasCode(full.err, codeResources)
}
