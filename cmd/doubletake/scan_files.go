package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures/recording"
	"github.com/doubletake-dev/doubletake/fixtures/signals"
)

// scannedLog is what one log file gave.
type scannedLog struct {
	file     string
	sessions []signals.Session
	// err is why the file was not read, or not to its end.
	err error
}

// logReader scans log files.
type logReader struct {
	format  string // or recording.Auto
	options signals.Options
}

// read scans files, several at once, and hands them on in their order. At most workers
// files are ahead of the one that is handed on.
func (r logReader) read(ctx context.Context, files []string, workers int, done func(scannedLog) error) error {
	if r.format != recording.Auto {
		if _, err := recording.ByName(r.format); err != nil {
			return usageError("--format: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pending := make(chan chan scannedLog, max(workers-1, 0))
	go func() {
		defer close(pending)
		for _, file := range files {
			result := make(chan scannedLog, 1)
			select {
			case pending <- result:
			case <-ctx.Done():
				return
			}
			go func() { result <- r.scan(ctx, file) }()
		}
	}()
	for result := range pending {
		log := <-result
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := done(log); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (r logReader) scan(ctx context.Context, path string) scannedLog {
	log := scannedLog{file: path}
	if log.err = readable(path); log.err != nil {
		return log
	}
	in, err := os.Open(path)
	if err != nil {
		log.err = err
		return log
	}
	defer in.Close()
	buffered := bufio.NewReaderSize(in, recording.HeadSize)
	format, err := r.formatOf(buffered)
	if err != nil {
		log.err = err
		return log
	}
	taken := map[string]bool{}
	_, log.err = format.Read(ctx, buffered, path, func(c *recording.Conversation, _ recording.Account) error {
		session, err := r.session(ctx, c, path)
		if err != nil {
			return err
		}
		// An id that stands twice in a file gets a number, as import gives it one.
		base := session.ID
		for n := 2; taken[session.ID]; n++ {
			session.ID = fmt.Sprintf("%s-%d", base, n)
		}
		taken[session.ID] = true
		if session.Source == "" {
			session.Source = format.Name
		}
		log.sessions = append(log.sessions, session)
		return nil
	})
	if log.err == nil && len(log.sessions) == 0 {
		log.err = errors.New("no conversation in it")
	}
	return log
}

// readable refuses what would block or never end; a shell's <(...) ends.
func readable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() || strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/") {
		return nil
	}
	return fmt.Errorf("no regular file (%s)", info.Mode().Type())
}

func (r logReader) formatOf(in *bufio.Reader) (recording.Format, error) {
	if r.format != recording.Auto {
		return recording.ByName(r.format)
	}
	head, err := in.Peek(recording.HeadSize)
	if err != nil && err != io.EOF {
		return recording.Format{}, err
	}
	return recording.Detect(head)
}

// session hands a conversation to a scanner, record by record as they stand in a file.
func (r logReader) session(ctx context.Context, c *recording.Conversation, path string) (signals.Session, error) {
	scanner := signals.NewScanner(&c.Header, path, r.options)
	for record, err := range c.Records() {
		if err != nil {
			return signals.Session{}, err
		}
		switch {
		case record.Message != nil:
			if err := scanner.Message(ctx, record.Message); err != nil {
				return signals.Session{}, err
			}
		case record.Compaction != nil:
			scanner.Compaction(record.Compaction)
		}
	}
	return scanner.Finish(), nil
}

// logFiles turns files, folders and patterns into a list of files, each once. What is
// hidden in a folder is left out.
func logFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		matches := []string{path}
		if _, err := os.Stat(path); err != nil {
			if matches, err = filepath.Glob(path); err != nil {
				return nil, fmt.Errorf("pattern %q: %w", path, err)
			}
			if len(matches) == 0 {
				return nil, fmt.Errorf("%s: no such file or folder, and no file matches it as a pattern", path)
			}
		}
		for _, match := range matches {
			if info, err := os.Stat(match); err == nil && info.IsDir() {
				match += string(filepath.Separator) // so that a link to a folder is followed
			}
			err := filepath.WalkDir(match, func(name string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				hidden := name != match && strings.HasPrefix(entry.Name(), ".")
				switch {
				case hidden && entry.IsDir():
					return fs.SkipDir
				case !hidden && !entry.IsDir() && (name == match || entry.Type().IsRegular()):
					files = append(files, filepath.Clean(name))
				}
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", match, err)
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(file string) bool {
		twice := seen[file]
		seen[file] = true
		return twice
	}), nil
}
