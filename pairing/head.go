package pairing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// HeadFile says, beside the log of verdicts, where the log ended when it was last written
// to: the chain of seals shows what is missing before a line, and nothing stands behind the
// last one. Who takes lines off the end and removes this file as well leaves no trace. Runs
// of earlier versions have none.
const HeadFile = "verdicts.head"

// head is where a log of verdicts ended.
type head struct {
	Lines int           `json:"lines"` // 0 where nothing was written yet
	Seal  fixtures.Hash `json:"seal,omitempty"`
	// Cut are earlier ends that were not there any more when the log was written to again.
	Cut []head `json:"cut,omitempty"`
}

// readHead reads where the log of the run in dir ended; one that nobody noted is empty.
func readHead(dir string) (head, error) {
	var h head
	path := filepath.Join(dir, HeadFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil {
		return head{}, fmt.Errorf("reading where the verdicts ended: %s: %w; remove it to go on without", path, err)
	}
	return h, nil
}

// missing are the ends that a log does not hold.
func (h *head) missing(log []Verdict) []head {
	var list []head
	for _, end := range append(h.Cut[:len(h.Cut):len(h.Cut)], head{Lines: h.Lines, Seal: h.Seal}) {
		if end.Lines > 0 && !holds(log, end.Seal) {
			list = append(list, end)
		}
	}
	return list
}

func holds(log []Verdict, seal fixtures.Hash) bool {
	for i := len(log) - 1; i >= 0; i-- { // it is most often the last
		if log[i].Seal == seal {
			return true
		}
	}
	return false
}

// noteHead notes where the log ends now. What was missing before stays noted.
func (r *Review) noteHead() error {
	last := &r.Verdicts[len(r.Verdicts)-1]
	now := head{Lines: len(r.Verdicts), Seal: last.Seal, Cut: r.head.missing(r.Verdicts)}
	data, err := fixtures.MarshalPlain(now)
	if err != nil {
		return fmt.Errorf("noting where the verdicts end: %w", err)
	}
	err = fixtures.WriteFileAtomic(filepath.Join(r.dir, HeadFile), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n", data)
		return err
	})
	if err != nil {
		return fmt.Errorf("the verdict is kept, and where the log ends could not be noted: %w", err)
	}
	r.head = now
	return nil
}

// CutVerdicts says in a sentence that whole lines were taken off the end of the log of
// verdicts on the run in dir, with what to do; it is empty where none is known to be.
func CutVerdicts(dir string) (string, error) {
	noted, err := readHead(dir) // before the log, which another process may be writing to
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, VerdictsFile)
	log, err := fixtures.ReadLog[Verdict](path)
	if err != nil {
		return "", err
	}
	missing := noted.missing(log)
	if len(missing) == 0 {
		return "", nil
	}
	var ends []string
	for _, end := range missing {
		ends = append(ends, fmt.Sprintf("verdict %d", end.Lines))
	}
	return fmt.Sprintf("%s is cut: it has %d lines, and once ended with %s, by %s: get them back from a copy of the run (doubletake review import RUN --verdicts COPY); where they are to be gone, remove %[4]s",
		path, len(log), strings.Join(ends, ", and with "), filepath.Join(dir, HeadFile)), nil
}
