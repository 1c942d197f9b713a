package labelling

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// The files of the labels in a run directory.
const (
	Dir         = "labelling"
	KeyFile     = "key.jsonl"
	RatingsFile = "ratings.jsonl"
)

// ErrNotExported says that a run has no key, so that nothing can be rated.
var ErrNotExported = errors.New("nothing was exported from this run: doubletake review export RUN --blind comes first")

// ErrOtherExport says that a run was exported in another way.
var ErrOtherExport = errors.New("this run was exported otherwise before")

// WriteKey writes the key of the run in dir. A run has one export: where there is one, it
// has to be of the same header, so that no sample that somebody labels loses its meaning.
func WriteKey(dir string, key *Key) error {
	old, err := ReadKey(dir)
	switch {
	case errors.Is(err, ErrNotExported):
	case err != nil:
		return err
	case old.Header != key.Header:
		return fmt.Errorf("%w (seed %d, %s pairs, %s claims): export it in the same way, or remove %s with all its ratings",
			ErrOtherExport, old.Seed, old.Frame, most(old.MaxClaims), filepath.Join(dir, Dir))
	}
	path := filepath.Join(dir, Dir, KeyFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing the key of the labels: %w", err)
	}
	return fixtures.WriteFileAtomic(path, func(out io.Writer) error {
		if err := writeLine(out, key.Header); err != nil {
			return err
		}
		for i := range key.Samples {
			if err := writeLine(out, key.Samples[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func most(claims int) string {
	if claims == 0 {
		return "all"
	}
	return fmt.Sprintf("at most %d", claims)
}

// ReadKey reads the key of the run in dir; without one the error is [ErrNotExported].
func ReadKey(dir string) (*Key, error) {
	path := filepath.Join(dir, Dir, KeyFile)
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotExported)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of the labels: %w", err)
	}
	defer file.Close()
	key := &Key{}
	lines := fixtures.NewLineReader(file)
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && lines.Line() == 1 {
			err = json.Unmarshal(line, &key.Header)
		} else if err == nil {
			var s Sample
			err = json.Unmarshal(line, &s)
			key.Samples = append(key.Samples, s)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the key of the labels: %w", &fixtures.SyntaxError{File: path, Line: lines.Line(), Err: err})
		}
	}
	if lines.Line() == 0 {
		return nil, fmt.Errorf("reading the key of the labels: %s is empty: export again", path)
	}
	return key, nil
}

// Import holds the sources against the run of the record and appends what they hold to its
// log. With any fault nothing is appended; the error joins all of them by file and line.
func Import(record *replay.Record, sources ...Source) (_ *Batch, err error) {
	key, err := ReadKey(record.Dir)
	if err != nil {
		return nil, err
	}
	set, err := Rebuild(record, key)
	if err != nil {
		return nil, err
	}
	log, before, err := fixtures.OpenLog[Batch](filepath.Join(record.Dir, Dir, RatingsFile))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := checkLog(before); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(record.Dir, Dir, RatingsFile), err)
	}
	batch, err := set.Check(before, sources...)
	if err != nil {
		return nil, err
	}
	if batch.Seal, err = batch.seal(); err != nil {
		return nil, fmt.Errorf("sealing the ratings: %w", err)
	}
	if n := len(before); n > 0 {
		batch.Prev = before[n-1].Seal
	}
	return batch, log.Append(*batch)
}

// ReadRatings reads what was imported into the run in dir, in the order of imports. It is
// an error if a line is not as it was written, or does not follow the one before it.
func ReadRatings(dir string) ([]Batch, error) {
	path := filepath.Join(dir, Dir, RatingsFile)
	batches, err := fixtures.ReadLog[Batch](path)
	if err == nil {
		err = checkLog(batches)
	}
	if err != nil {
		return nil, fmt.Errorf("reading ratings: %s: %w", path, err)
	}
	return batches, nil
}

// TornRatings says in a sentence that the last line of the ratings of the run in dir is
// torn, with what to do; it is empty where it is not.
func TornRatings(dir string) (string, error) {
	path := filepath.Join(dir, Dir, RatingsFile)
	n, err := fixtures.TornTail(path)
	if n == 0 || err != nil {
		return "", err
	}
	return fmt.Sprintf("the last line of %s is torn after %d bytes and not counted: import its files again", path, n), nil
}

// checkLog says which line of the ratings is not as it was written.
func checkLog(batches []Batch) error {
	prev := fixtures.Hash("")
	for i := range batches {
		b := &batches[i]
		seal, err := b.seal()
		switch {
		case err != nil:
			return fmt.Errorf("import %d: %w", i+1, err)
		case b.Seal == "":
			return fmt.Errorf("import %d has no seal, and nothing says that nobody changed it: %w", i+1, errChanged)
		case b.Seal != seal:
			return fmt.Errorf("import %d: its seal does not fit: %w", i+1, errChanged)
		case b.Prev != prev:
			return fmt.Errorf("import %d does not follow the one before it: %w", i+1, errChanged)
		}
		prev = b.Seal
	}
	return nil
}

var errChanged = errors.New("the ratings were changed: put the file back from a copy, or take it away and import all files of labels again")

// seal is the checksum of a line without its place.
func (b *Batch) seal() (fixtures.Hash, error) {
	bare := *b
	bare.Seal, bare.Prev = "", ""
	return fixtures.HashJSON(&bare)
}

// WriteCases writes cases as JSON Lines.
func WriteCases(out io.Writer, cases []Case) error {
	for i := range cases {
		if err := writeLine(out, cases[i]); err != nil {
			return err
		}
	}
	return nil
}

func writeLine(out io.Writer, value any) error {
	line, err := fixtures.MarshalPlain(value)
	if err != nil {
		return fmt.Errorf("writing labels: %w", err)
	}
	_, err = out.Write(append(line, '\n'))
	return err
}

// ReadPairs reads the pairs of a frame from the run in dir.
func ReadPairs(dir string, frame Frame) ([]pairing.Pair, error) {
	switch frame {
	case Discordant:
		queue, err := pairing.ReadQueue(dir)
		return Pairs(queue), err
	case AllPairs:
		pairs, err := fixtures.ReadLog[pairing.Pair](filepath.Join(dir, replay.PairsFile))
		if err != nil {
			return nil, fmt.Errorf("reading the pairs of %s: %w", dir, err)
		}
		return pairs, nil
	}
	return nil, fmt.Errorf("no pairs %q: want %s or %s", frame, Discordant, AllPairs)
}
