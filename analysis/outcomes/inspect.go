package outcomes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// inspectSample is what counts of a sample of Inspect.
type inspectSample struct {
	ID     json.RawMessage         `json:"id"` // a number or a text
	Epoch  int                     `json:"epoch"`
	Scores map[string]inspectScore `json:"scores"`
	// Score is where logs of 2024 have a single one.
	Score    *inspectScore   `json:"score"`
	Error    json.RawMessage `json:"error"`
	Metadata json.RawMessage `json:"metadata"`
}

type inspectScore struct {
	Value json.RawMessage `json:"value"`
}

// inspect reads a log. A sample is known by its id and epoch; the epochs of a sample
// belong together.
func (f *File) inspect(in Source, size int64, o Options) ([]raw, error) {
	var samples []inspectSample
	status := ""
	var err error
	if isZip(in) {
		samples, status, err = f.inspectArchive(in, size)
	} else {
		samples, status, err = f.inspectDocument(io.NewSectionReader(in, 0, size))
	}
	if err != nil {
		return nil, err
	}
	if status != "" && status != "success" {
		f.Notes = append(f.Notes, fmt.Sprintf("%s did not come to its end: its status is %s", f.Path, status))
	}
	names := map[string]bool{}
	for i := range samples {
		for name := range samples[i].Scores {
			names[name] = true
		}
		if samples[i].Score != nil && len(samples[i].Scores) == 0 {
			samples[i].Scores = map[string]inspectScore{"score": *samples[i].Score}
			names["score"] = true
		}
	}
	if len(names) > 0 {
		// A scorer with several values has one metric for each: scorer.value.
		if f.Metric, err = choose(slices.Sorted(maps.Keys(parts(samples, names))), o.Metric, "scorer", "metric"); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	var found []raw
	for i := range samples {
		r, err := samples[i].raw(f.Metric, o)
		if err != nil {
			return nil, fmt.Errorf("%s: sample %d: %w", f.Path, i+1, err)
		}
		r.at = fmt.Sprintf("sample %d", i+1)
		found = append(found, r)
	}
	return found, nil
}

// parts are the names of scorers, and of the values of those that give several.
func parts(samples []inspectSample, names map[string]bool) map[string]bool {
	out := map[string]bool{}
	for name := range names {
		several := false
		for i := range samples {
			var values map[string]json.RawMessage
			if json.Unmarshal(samples[i].Scores[name].Value, &values) == nil {
				for part := range values {
					several = true
					out[name+"."+part] = true
				}
			}
		}
		if !several {
			out[name] = true
		}
	}
	return out
}

func (s *inspectSample) raw(metric string, o Options) (raw, error) {
	id := string(s.ID)
	var text string
	if json.Unmarshal(s.ID, &text) == nil {
		id = text
	}
	if id == "" || id == "null" {
		return raw{}, fmt.Errorf("it has no id")
	}
	// The epoch belongs to the content, so that a missing epoch shifts no other.
	r := raw{content: fmt.Sprintf("%s epoch %d", s.ID, s.Epoch), name: "sample " + id, group: string(s.ID)}
	if s.Epoch > 1 {
		r.name += fmt.Sprintf(" epoch %d", s.Epoch)
	}
	if o.Cluster != "" && o.Cluster != "id" {
		group, err := field(o.Cluster, s.Metadata)
		if err != nil {
			return r, err
		}
		r.group = group
	}
	if len(s.Error) > 0 && string(s.Error) != "null" {
		r.reason = "error: " + errorText(s.Error)
		return r, nil
	}
	scorer, whole := s.Scores[metric]
	value := scorer.Value
	if !whole {
		for name, x := range s.Scores {
			part, ok := strings.CutPrefix(metric, name+".")
			var values map[string]json.RawMessage
			if ok && json.Unmarshal(x.Value, &values) == nil && values[part] != nil {
				value = values[part]
			}
		}
	}
	if len(value) == 0 || string(value) == "null" {
		r.reason = cmp.Or(strings.TrimSpace("no score "+metric), "no score")
		return r, nil
	}
	score, ok := inspectValue(value)
	if !ok {
		return r, fmt.Errorf("sample %s: the value %.60s of %s is no number and no grade", id, value, metric)
	}
	r.score = &score
	return r, nil
}

func errorText(text json.RawMessage) string {
	var plain string
	var object struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(text, &plain) == nil:
		return plain
	case json.Unmarshal(text, &object) == nil && object.Message != "":
		return object.Message
	}
	return fmt.Sprintf("%.200s", text)
}

// inspectValue makes a number from a value, as Inspect's value_to_float does: C is 1, P
// one half, I and N are 0.
func inspectValue(text json.RawMessage) (float64, bool) {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return 0, false
	}
	switch x := value.(type) {
	case float64:
		return x, true
	case bool:
		return *boolean(x), true
	case string:
		switch x {
		case "C":
			return 1, true
		case "P":
			return 0.5, true
		case "I", "N":
			return 0, true
		}
		switch strings.ToLower(x) {
		case "yes", "true":
			return 1, true
		case "no", "false":
			return 0, true
		}
		n, err := strconv.ParseFloat(x, 64)
		return n, err == nil
	}
	return 0, false
}

// inspectDocument reads a log in one JSON document.
func (f *File) inspectDocument(in io.Reader) (samples []inspectSample, status string, err error) {
	dec := json.NewDecoder(newPlainNumbers(withoutMark(in)))
	token, err := dec.Token()
	if err == nil && token != json.Delim('{') {
		err = fmt.Errorf("a log of Inspect is an object")
	}
	if err != nil {
		return nil, "", place(f.Path, dec, err)
	}
	err = object(dec, func(key string) error {
		switch key {
		case "status":
			return dec.Decode(&status)
		case "samples":
			token, err := dec.Token()
			if err != nil || token != json.Delim('[') {
				return err
			}
			return list(dec, func() error {
				var s inspectSample
				if err := dec.Decode(&s); err != nil {
					return err
				}
				samples = append(samples, s)
				return nil
			})
		}
		return skip(dec)
	})
	if err != nil {
		return nil, "", place(f.Path, dec, err)
	}
	return samples, status, nil
}

// inspectArchive reads an .eval file: a member a sample. Where a name stands twice, the
// last is the one that counts, as for every reader of archives.
func (f *File) inspectArchive(in io.ReaderAt, size int64) (samples []inspectSample, status string, err error) {
	files, err := archive(in, size, f.Path)
	if err != nil {
		return nil, "", err
	}
	files.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor())
	last := map[string]int{}
	for i, member := range files.File {
		last[member.Name] = i
	}
	status = "started" // a log without a header is one that nobody ended
	for i, member := range files.File {
		sample := strings.HasPrefix(member.Name, "samples/") && strings.HasSuffix(member.Name, ".json")
		if last[member.Name] != i || !sample && member.Name != "header.json" {
			continue
		}
		content, err := member.Open()
		if err != nil {
			return nil, "", fmt.Errorf("%s: %s: %w", f.Path, member.Name, err)
		}
		dec := json.NewDecoder(newPlainNumbers(io.LimitReader(content, mostValue)))
		if sample {
			var s inspectSample
			if err = dec.Decode(&s); err == nil {
				samples = append(samples, s)
			}
		} else {
			var header struct {
				Status string `json:"status"`
			}
			if err = dec.Decode(&header); err == nil {
				status = header.Status
			}
		}
		if err = cmp.Or(err, content.Close()); err != nil {
			return nil, "", place(f.Path+": "+member.Name, dec, err)
		}
	}
	return samples, status, nil
}
