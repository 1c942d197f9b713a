package outcomes

import (
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
)

// Read reads the outcomes of a file or a run directory.
func Read(path string, o Options) (*File, error) {
	if o.Format != "" && !slices.Contains(Formats(), o.Format) {
		return nil, fmt.Errorf("no format %q of outcomes: want one of %s", o.Format, formatNames())
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading outcomes: %w", err)
	}
	if info.IsDir() {
		if o.Format != "" && o.Format != Auto && o.Format != Run {
			return nil, fmt.Errorf("reading outcomes: %s is a folder, and a %s file was wanted", path, o.Format)
		}
		if _, err := os.Stat(filepath.Join(path, replay.RunFile)); err != nil {
			return nil, fmt.Errorf("reading outcomes: %s is a folder and holds no run: name a file, or a run directory that nightly or compare wrote", path)
		}
		return readRun(path, o)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading outcomes: %w", err)
	}
	defer file.Close()
	f, err := ReadFrom(file, info.Size(), path, o)
	if err != nil {
		return nil, fmt.Errorf("reading outcomes: %w", err)
	}
	return f, nil
}

func formatNames() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// Source is what a file is read from.
type Source interface {
	io.ReaderAt
	io.Reader
}

// ReadFrom reads a file that is open, of the size, under its name.
func ReadFrom(in Source, size int64, path string, o Options) (*File, error) {
	f := &File{Path: path, Format: o.Format, Duplicates: []string{}, Notes: []string{}}
	if f.Format == "" || f.Format == Auto {
		format, err := detect(io.NewSectionReader(in, 0, size), path)
		if err != nil {
			return nil, err
		}
		f.Format = format
	}
	var found []raw
	var err error
	switch f.Format {
	case Promptfoo:
		found, err = f.promptfoo(io.NewSectionReader(in, 0, size), o)
	case Inspect:
		found, err = f.inspect(in, size, o)
	case LMEval:
		found, err = f.lmEval(io.NewSectionReader(in, 0, size), o)
	case CSV:
		found, err = f.table(io.NewSectionReader(in, 0, size), o)
	default:
		return nil, fmt.Errorf("%s is a file, and a %s was wanted", path, f.Format)
	}
	if err != nil {
		return nil, err
	}
	return f, f.settle(found, o)
}

// zipMagic begins an archive.
const zipMagic = "PK\x03\x04"

// detect tells the format by what a file begins with.
func detect(in io.Reader, path string) (Format, error) {
	buffered := bufio.NewReaderSize(in, 64<<10)
	head, _ := buffered.Peek(64 << 10)
	if bytes.HasPrefix(head, []byte(zipMagic)) {
		return Inspect, nil
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	if len(text) == 0 {
		return "", fmt.Errorf("%s is empty", path)
	}
	if text[0] != '{' && text[0] != '[' {
		return CSV, nil
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		_, _ = buffered.Discard(3) // three bytes that were seen
	}
	dec := json.NewDecoder(newPlainNumbers(buffered))
	format, err := formatOf(dec)
	if err != nil {
		return "", place(path, dec, err)
	}
	if format == "" {
		return "", fmt.Errorf("cannot tell what %s is: want results of promptfoo (-o results.json), a log of Inspect (.eval or .json), samples of lm-eval (--log_samples), a CSV with the columns id and outcome, or a run directory; --format says which", path)
	}
	return format, nil
}

// formatOf looks at the keys of the first object.
func formatOf(dec *json.Decoder) (Format, error) {
	token, err := dec.Token()
	if err != nil {
		return "", err
	}
	if token == json.Delim('[') {
		if token, err = dec.Token(); err != nil {
			return "", err
		}
	}
	if token != json.Delim('{') {
		return "", nil
	}
	signs := map[string]Format{
		"evalId": Promptfoo, "testIdx": Promptfoo, "promptIdx": Promptfoo, "gradingResult": Promptfoo, "testCase": Promptfoo, "results": Promptfoo,
		"eval": Inspect, "samples": Inspect,
		"doc_id": LMEval, "doc_hash": LMEval, "filtered_resps": LMEval, "resps": LMEval,
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return "", err
		}
		key, _ := token.(string)
		if format := signs[key]; format != "" {
			return format, nil
		}
		if err := skip(dec); err != nil {
			return "", err
		}
	}
	return "", nil
}

// isZip says whether a file begins as an archive does.
func isZip(in io.ReaderAt) bool {
	head := make([]byte, len(zipMagic))
	n, _ := in.ReadAt(head, 0)
	return n == len(head) && string(head) == zipMagic
}

// archive opens an archive.
func archive(in io.ReaderAt, size int64, path string) (*zip.Reader, error) {
	files, err := zip.NewReader(in, size)
	if err != nil {
		return nil, fmt.Errorf("%s: the archive is broken or cut off: %w", path, err)
	}
	return files, nil
}
