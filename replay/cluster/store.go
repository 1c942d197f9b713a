package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// maxUnpacked bounds what a stored value may unpack to, in bytes.
const maxUnpacked = 1 << 30

// How a value is stored: compressed in its place, or by the name of a large object.
const (
	inPlace byte = iota + 1
	asObject
)

// errGone says that the cluster does not hold something any more.
var errGone = errors.New("the cluster does not hold it any more")

// pack compresses a value, and puts what does not fit a message among the large objects,
// where it stays for at least as long as a key lives that is stored now.
func (c *Cluster) pack(ctx context.Context, data []byte, life time.Duration) ([]byte, error) {
	packed := c.encoder.EncodeAll(data, []byte{inPlace})
	if int64(len(packed)) <= c.conn.MaxPayload()/2 {
		return packed, nil
	}
	sum := sha256.Sum256(packed)
	name := hex.EncodeToString(sum[:]) + largeTime(time.Now(), c.keepLarge, life)
	err := c.tryFor(ctx, patience, "storing a large object", func(ctx context.Context) error {
		if _, err := c.large.GetInfo(ctx, name); err == nil {
			return nil
		}
		_, err := c.large.PutBytes(ctx, name, packed)
		return room("OBJ_"+c.base()+"_large", err)
	})
	return append([]byte{asObject}, name...), err
}

// largeTime is the part of a large object's name that changes with time. An object's age
// counts from when it was put first, so one that is long there can't be named by a new key:
// a name is used for half of the time by which objects, which are kept for keep, outlive
// keys; each time once where they don't. 0 keeps them for ever.
func largeTime(now time.Time, keep, life time.Duration) string {
	if keep == 0 {
		return ""
	}
	every := max(1, (keep-life)/2)
	return "." + strconv.FormatInt(now.UnixNano()/int64(every), 36)
}

// whole says whether the large object is there that a packed value names, if it names one.
func (c *Cluster) whole(ctx context.Context, packed []byte) (is bool, err error) {
	if !isLarge(packed) {
		return true, nil
	}
	err = c.try(ctx, "looking for a large object", func(ctx context.Context) error {
		_, err := c.large.GetInfo(ctx, string(packed[1:]))
		if is = err == nil; errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil
		}
		return err
	})
	return is, err
}

func isLarge(packed []byte) bool { return len(packed) > 0 && packed[0] == asObject }

// unpack is the value that pack made that of; the error is errGone where its large object
// is not there any more.
func (c *Cluster) unpack(ctx context.Context, packed []byte) ([]byte, error) {
	if isLarge(packed) {
		name := string(packed[1:])
		err := c.tryFor(ctx, patience, "fetching a large object", func(ctx context.Context) (err error) {
			packed, err = c.large.GetBytes(ctx, name)
			return err
		})
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			return nil, fmt.Errorf("%w: %w", errGone, err)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(packed) == 0 || packed[0] != inPlace {
		return nil, errors.New("a value in the cluster is of another version, or damaged")
	}
	data, err := c.decoder.DecodeAll(packed[1:], nil)
	if err != nil {
		return nil, fmt.Errorf("unpacking a value of the cluster: %w", err)
	}
	return data, nil
}

// get is what stands under a key, with its revision; nil and 0 for nothing, and for what
// names a large object that is gone.
func (c *Cluster) get(ctx context.Context, kv jetstream.KeyValue, key string) (data []byte, revision uint64, err error) {
	entry, err := c.entry(ctx, kv, key)
	if entry == nil || err != nil {
		return nil, 0, err
	}
	data, err = c.unpack(ctx, entry.Value())
	if errors.Is(err, errGone) {
		return nil, 0, nil
	}
	return data, entry.Revision(), err
}

func (c *Cluster) entry(ctx context.Context, kv jetstream.KeyValue, key string) (entry jetstream.KeyValueEntry, err error) {
	err = c.try(ctx, "reading "+key+" of the cluster", func(ctx context.Context) (err error) {
		entry, err = kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrKeyDeleted) {
			entry, err = nil, nil
		}
		return err
	})
	return entry, err
}

// put stores a value under a key.
func (c *Cluster) put(ctx context.Context, kv jetstream.KeyValue, key string, data []byte) error {
	life := keepData
	if kv == c.answers {
		life = keepAnswers
	}
	packed, err := c.pack(ctx, data, life)
	if err != nil {
		return err
	}
	return c.try(ctx, "storing "+key+" in the cluster", func(ctx context.Context) error {
		_, err := kv.Put(ctx, key, packed)
		return roomIn(kv, err)
	})
}

// drop takes a key out.
func (c *Cluster) drop(ctx context.Context, kv jetstream.KeyValue, key string) error {
	return c.try(ctx, "taking "+key+" out of the cluster", func(ctx context.Context) error { return roomIn(kv, kv.Delete(ctx, key)) })
}

// keepBlobs is how long a blob stays at least once putBlob has seen to it.
const keepBlobs = keepData / 2

// putBlob stores bytes by their hash, unless they are there whole and stay for keepBlobs.
// Large says that they may be among the large objects, which are to be looked for again.
func (c *Cluster) putBlob(ctx context.Context, hash string, data func() ([]byte, error)) (large bool, err error) {
	entry, err := c.entry(ctx, c.data, blobKey(hash))
	if err != nil {
		return false, err
	}
	if entry != nil && time.Since(entry.Created()) < keepData-keepBlobs {
		if whole, err := c.whole(ctx, entry.Value()); whole || err != nil {
			return isLarge(entry.Value()), err
		}
	}
	bytes, err := data()
	if err != nil {
		return false, err
	}
	return int64(len(bytes)) > c.conn.MaxPayload()/4, c.put(ctx, c.data, blobKey(hash), bytes)
}

// blob is what putBlob stored.
func (c *Cluster) blob(ctx context.Context, hash string) ([]byte, error) {
	// A replica may answer that has not heard yet of what another one has acknowledged.
	const longest = 2 * time.Second
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		data, revision, err := c.get(ctx, c.data, blobKey(hash))
		if err != nil || revision != 0 {
			return data, err
		}
		if pause > longest || !sleep(ctx, pause) {
			return nil, fmt.Errorf("blob %s: %w", hash, errGone)
		}
	}
}

// keys lists the keys of a bucket that a pattern fits.
func (c *Cluster) keys(ctx context.Context, kv jetstream.KeyValue, pattern string) (list []string, err error) {
	err = c.try(ctx, "listing "+pattern+" of the cluster", func(ctx context.Context) error {
		lister, err := kv.ListKeysFiltered(ctx, pattern)
		if err != nil {
			return err
		}
		list = nil
		for key := range lister.Keys() {
			list = append(list, key)
		}
		return nil
	})
	return list, err
}

// The keys of the data bucket. Runs, episodes and hosts stand in them as hashes.
func runKey(run string) string             { return "run." + run }
func stopKey(run string) string            { return "stop." + run }
func blobKey(hash string) string           { return "blob." + hash }
func resultKey(run, episode string) string { return "result." + run + "." + episode }
func deadKey(run, episode string) string   { return "dead." + run + "." + episode }
func limitKey(name string) string          { return "limit." + name }

// The keys of the live bucket, beside those of claims.
func leaderKey(run string) string  { return "leader." + run }
func workerKey(name string) string { return "worker." + name }
