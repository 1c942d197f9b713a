package compact

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// SavedOptions say where a compactor's outputs were saved.
type SavedOptions struct {
	// Dir is the folder. The output of a conversation's compaction is
	// <conversation id>.<compaction>.json, or .jsonl, where compactions count from 0.
	Dir string
	// Name is what to call the compactor where an output does not say; empty is the
	// folder's name.
	Name string
	// Counter counts tokens; nil is [RoughCounter].
	Counter replay.Counter
}

// Saved is a compactor whose outputs were made before and saved, one file a
// compaction. A .json file holds one answer of the contract. A .jsonl file holds
// one message of it a line; its first line may be the answer itself, without its
// messages. It refuses a compaction that has no file.
type Saved struct {
	driver
	dir string
}

// NewSaved makes a compactor of a folder of saved outputs.
func NewSaved(options SavedOptions) (*Saved, error) {
	info, err := os.Stat(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("file compactor: its folder of saved outputs: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("file compactor: %s is no folder; want one that holds <conversation id>.<compaction>.json", options.Dir)
	}
	if options.Name == "" {
		options.Name = filepath.Base(options.Dir)
	}
	return &Saved{
		driver: driver{
			name: options.Name, counter: counterOf(options.Counter),
			from: source{says: "the saved output holds", empty: "nothing"},
		},
		dir: options.Dir,
	}, nil
}

// Compact reads the saved output. Where the request is the output before and nothing
// else, as when a compactor is given its own output, and no file answers it, that is
// an error: what was saved says nothing of it.
func (s *Saved) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	base := fmt.Sprintf("%s.%d", req.Fixture, req.Compaction)
	if strings.ContainsAny(base, "/\\:\x00") {
		return s.refused(fmt.Sprintf("the conversation id %q names no file", excerpt(req.Fixture, 128))), nil
	}
	path := filepath.Join(s.dir, base+".json")
	data, err := readAnswer(path)
	lines, errLines := readAnswer(path + "l")
	switch {
	case errors.Is(err, fs.ErrNotExist) && errors.Is(errLines, fs.ErrNotExist):
		if req.Compaction > 0 && nothingNew(req) {
			return nil, fmt.Errorf("file compactor %s: no output was saved for its own output, %s", s.name, path)
		}
		return s.refused(fmt.Sprintf("no output was saved: want %s (or .jsonl)", path)), nil
	case err == nil && errLines == nil:
		return s.failed(fmt.Sprintf("there are two saved outputs, %s and %s; remove one", path, base+".jsonl")), nil
	case errors.Is(err, fs.ErrNotExist):
		path += "l"
		if err = errLines; err == nil {
			data, err = joinLines(lines)
		}
	}
	if err != nil {
		return s.failed(fmt.Sprintf("the saved output %s cannot be used: %v", path, err)), nil
	}
	out, err := s.read(data, req)
	if err != nil {
		return s.failed(fmt.Sprintf("%v (%s)", err, path)), nil
	}
	return out, nil
}

// nothingNew says whether all messages come out of a compaction.
func nothingNew(req *replay.CompactRequest) bool {
	for i := range req.Messages {
		if req.Messages[i].Kind == "" {
			return false
		}
	}
	return true
}

func (s *Saved) refused(reason string) *replay.Compaction {
	out := s.driver.failed(reason)
	out.Status = replay.Refused
	return out
}

// readAnswer reads a regular file of at most maxAnswer bytes.
func readAnswer(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("it has more than %d MiB", maxAnswer>>20)
	}
	return data, nil
}

// joinLines makes one answer of a file of lines.
func joinLines(data []byte) ([]byte, error) {
	answer := map[string]json.RawMessage{"status": json.RawMessage(`"compacted"`)}
	var messages []json.RawMessage
	first := true
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return nil, fmt.Errorf("line %d is no JSON: %s", number, quoted(line[:min(len(line), excerptBytes)]))
		}
		var head map[string]json.RawMessage
		if first && json.Unmarshal(line, &head) == nil && head["status"] != nil {
			answer = head
		} else {
			messages = append(messages, line)
		}
		first = false
	}
	if first {
		return nil, errors.New("it is empty")
	}
	if messages != nil {
		if _, both := answer["messages"]; both {
			return nil, errors.New("its first line holds messages, and so do the lines after it")
		}
		joined, err := fixtures.MarshalPlain(messages)
		if err != nil {
			return nil, err
		}
		answer["messages"] = joined
	}
	return fixtures.MarshalPlain(answer)
}

// Digest names what the output depends on: every saved output, by name and content.
// The files are read at every call.
func (s *Saved) Digest() fixtures.Hash {
	parts := []string{"file", version, fmt.Sprint(contractVersion)}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		parts = append(parts, "unreadable")
	}
	for _, entry := range entries { // sorted by name
		if extension := filepath.Ext(entry.Name()); extension == ".json" || extension == ".jsonl" {
			parts = append(parts, entry.Name(), fileDigest(filepath.Join(s.dir, entry.Name())))
		}
	}
	return digestOf(parts...)
}
