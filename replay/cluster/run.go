package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Manifest is a run as its leader publishes it. It holds no secrets: workers have keys of
// their own.
type Manifest struct {
	// Run is the run's id, Plan what it is to do: a worker plays for a run only where its
	// own plan is the same.
	Run  string      `json:"run"`
	Plan replay.Plan `json:"plan"`
	// Parts is what a worker makes the arms and the models of; this package does not look
	// at it.
	Parts json.RawMessage `json:"parts"`
}

// name is the run in subjects and keys.
func (m *Manifest) name() string { return string(fixtures.HashBytes([]byte(m.Run))) }

// namePattern is what a run is called in subjects and keys.
var namePattern = regexp.MustCompile(`^[0-9a-f]+$`)

// jobName is an episode in subjects and keys.
func jobName(key replay.Key) string {
	return string(fixtures.HashBytes(fmt.Appendf(nil, "%s %q %d", key.Fixture, key.Arm, key.Replicate)))
}

func (c *Cluster) subject(run, job string) string {
	return c.options.Prefix + ".jobs." + run + "." + job
}

// consumer is where the workers get the jobs of a run.
func (c *Cluster) consumer(ctx context.Context, run string) (consumer jetstream.Consumer, err error) {
	err = c.try(ctx, "opening the queue of a run", func(ctx context.Context) (err error) {
		consumer, err = c.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: run, FilterSubject: c.subject(run, "*"), AckPolicy: jetstream.AckExplicitPolicy,
			AckWait: c.options.AckWait, MaxAckPending: -1,
			// The worker that gets a job once too often puts it on the list of dead letters.
			// The server has no bound of its own: it would keep the job and give it to nobody.
			MaxDeliver: -1, InactiveThreshold: keepData,
		})
		return err
	})
	return consumer, err
}

// Result is what came of a job.
type Result struct {
	Episode *replay.Episode `json:"episode"`
	Worker  string          `json:"worker"`
	// Error is why the worker could not play at all; there is no episode then, and another
	// worker is to play.
	Error string `json:"error,omitempty"`
}

func (r *Result) finished() bool { return r.Error == "" && r.Episode != nil && r.Episode.Finished() }

func (c *Cluster) decodeResult(ctx context.Context, packed []byte, key replay.Key) (*Result, error) {
	data, err := c.unpack(ctx, packed)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("reading the result of %s: %w", key, err)
	}
	if r.Error == "" && (r.Episode == nil || r.Episode.Key != key) {
		return nil, fmt.Errorf("the result of %s is that of another episode", key)
	}
	return &r, nil
}

// result is what is stored of a job, with its revision; nil for nothing, and for what is
// too large for a message and gone.
func (c *Cluster) result(ctx context.Context, run string, key replay.Key) (*Result, uint64, error) {
	entry, err := c.entry(ctx, c.data, resultKey(run, jobName(key)))
	if entry == nil || err != nil {
		return nil, 0, err
	}
	r, err := c.decodeResult(ctx, entry.Value(), key)
	if errors.Is(err, errGone) {
		err = nil
	}
	return r, entry.Revision(), err
}

// store stores a result, unless a finished one is there.
func (c *Cluster) store(ctx context.Context, run string, key replay.Key, r *Result) error {
	data, err := fixtures.MarshalPlain(r)
	if err != nil {
		return err
	}
	packed, err := c.pack(ctx, data, keepData)
	if err != nil {
		return err
	}
	name := resultKey(run, jobName(key))
	for {
		old, revision, err := c.result(ctx, run, key)
		if err != nil || old != nil && old.finished() {
			return err
		}
		err = c.try(ctx, "storing a result", func(ctx context.Context) error {
			if revision == 0 {
				_, err := c.data.Create(ctx, name, packed)
				return roomIn(c.data, err)
			}
			_, err := c.data.Update(ctx, name, packed, revision)
			return roomIn(c.data, err)
		})
		if !conflict(err) {
			return err
		}
	}
}

// File is a file of a set as the cluster has it, or a folder of a sandbox, which may be
// empty.
type File struct {
	Hash fixtures.Hash `json:"hash"`
	Mode fs.FileMode   `json:"mode"`
}

// transfers is how many files are stored or fetched at once.
const transfers = 8

// PutFiles stores the files of a set by their hashes, and returns them by their paths: for
// a symbolic link the file that it leads to, and hidden ones in sandboxes alone. What is no
// file is an error where the set's manifest would cover it.
func (c *Cluster) PutFiles(ctx context.Context, files fs.FS) (map[string]File, error) {
	out := map[string]File{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(transfers)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		inSandboxes := strings.HasPrefix(name, fixtures.SandboxesDir+"/")
		if err == nil && name != "." && strings.HasPrefix(entry.Name(), ".") && !inSandboxes {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil // no part of a set
		}
		if err == nil && entry.IsDir() && inSandboxes {
			mu.Lock()
			out[name] = File{Mode: fs.ModeDir | 0o755}
			mu.Unlock()
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := fs.Stat(files, name) // of what a link leads to
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s: no file (%v): make it one, or take it out of the set", name, info.Mode().Type())
		}
		if err != nil {
			if !fixtures.Covered(name) && name != fixtures.ManifestFile {
				return nil // a note that the set does without
			}
			return err
		}
		group.Go(func() error {
			data, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			file := File{fixtures.HashBytes(data), info.Mode().Perm()}
			mu.Lock()
			out[name] = file
			mu.Unlock()
			_, err = c.putBlob(ctx, string(file.Hash), func() ([]byte, error) { return data, nil })
			return err
		})
		return nil
	})
	if err := errors.Join(err, group.Wait()); err != nil {
		return nil, fmt.Errorf("putting the set into the cluster: %w", err)
	}
	return out, nil
}

// FetchFiles writes the files of a set into the folder dir. What lies there with the same
// bytes stays.
func (c *Cluster) FetchFiles(ctx context.Context, files map[string]File, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("fetching the set: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("fetching the set: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(transfers)
	for name, file := range files {
		if !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("fetching the set: %q is no path inside it", name)
		}
		group.Go(func() error {
			if err := c.fetchFile(ctx, root, name, file); err != nil {
				return fmt.Errorf("fetching %s of the set: %w", name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (c *Cluster) fetchFile(ctx context.Context, root *os.Root, name string, file File) error {
	if file.Mode.IsDir() {
		return root.MkdirAll(name, 0o755)
	}
	if data, err := root.ReadFile(name); err == nil && fixtures.HashBytes(data) == file.Hash {
		return nil
	}
	data, err := c.blob(ctx, string(file.Hash))
	if err != nil {
		return err
	}
	if have := fixtures.HashBytes(data); have != file.Hash {
		return fmt.Errorf("its hash is %s, and should be %s", have, file.Hash)
	}
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return root.WriteFile(name, data, file.Mode&0o111|0o644)
}
