package outcomes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// lmEvalSample is what counts of a sample of lm-eval. Its metrics stand beside these.
type lmEvalSample struct {
	DocID   *int            `json:"doc_id"`
	DocHash string          `json:"doc_hash"`
	Doc     json.RawMessage `json:"doc"`
	Filter  string          `json:"filter"`
	Metrics []string        `json:"metrics"`
	values  map[string]json.RawMessage
}

// lmEval reads samples, JSON Lines or a list. A sample is known by the hash of its
// document, since numbers of documents move when a task changes.
func (f *File) lmEval(in io.Reader, o Options) ([]raw, error) {
	var samples []lmEvalSample
	dec := json.NewDecoder(newPlainNumbers(withoutMark(in)))
	one := func(text json.RawMessage) error {
		s := lmEvalSample{values: map[string]json.RawMessage{}}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(text, &s); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &all); err != nil {
			return err
		}
		if len(s.Metrics) == 0 {
			s.Metrics = metricKeys(all)
		}
		for _, name := range s.Metrics {
			s.values[name] = all[name]
		}
		if s.DocHash == "" && len(s.Doc) > 0 {
			canonical, err := fixtures.CanonicalJSON(s.Doc)
			if err != nil {
				return err
			}
			s.DocHash = string(fixtures.HashBytes(canonical))
		}
		samples = append(samples, s)
		return nil
	}
	err := eachObject(dec, one)
	if err != nil {
		return nil, place(f.Path, dec, err)
	}
	metrics, filters := map[string]bool{}, map[string]bool{}
	for i := range samples {
		filters[samples[i].Filter] = true
		for _, name := range samples[i].Metrics {
			metrics[name] = true
		}
	}
	if len(samples) == 0 {
		return nil, nil
	}
	if f.Metric, err = choose(slices.Sorted(maps.Keys(metrics)), o.Metric, "metric", "metric"); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	filter, err := choose(slices.Sorted(maps.Keys(filters)), o.Filter, "filter", "filter")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	var found []raw
	for i := range samples {
		s := &samples[i]
		if s.Filter != filter {
			continue
		}
		r, err := s.raw(f.Metric, o)
		if err != nil {
			return nil, fmt.Errorf("%s: sample %d: %w", f.Path, i+1, err)
		}
		r.at = fmt.Sprintf("sample %d", i+1)
		found = append(found, r)
	}
	return found, nil
}

// eachObject calls for each object of JSON Lines or of a list.
func eachObject(dec *json.Decoder, each func(json.RawMessage) error) error {
	for first := true; ; first = false {
		var value json.RawMessage
		err := dec.Decode(&value)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var list []json.RawMessage
		if !first || json.Unmarshal(value, &list) != nil {
			list = []json.RawMessage{value}
		}
		for _, element := range list {
			if err := each(element); err != nil {
				return err
			}
		}
	}
}

// metricKeys are the fields of a sample of an older version, which does not name its
// metrics: what is neither of the sample itself nor anything but a number.
func metricKeys(all map[string]json.RawMessage) []string {
	var names []string
	for name, value := range all {
		var x float64
		if name != "doc_id" && name != "target" && string(value) != "null" && json.Unmarshal(value, &x) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *lmEvalSample) raw(metric string, o Options) (raw, error) {
	if s.DocHash == "" {
		return raw{}, fmt.Errorf("it has neither a doc_hash nor a doc")
	}
	r := raw{content: s.DocHash, name: fmt.Sprintf("document %.12s", s.DocHash), group: s.DocHash}
	if s.DocID != nil {
		r.order = *s.DocID
		r.name = fmt.Sprintf("document %d (%.12s)", *s.DocID, s.DocHash)
	}
	if o.Cluster != "" {
		group, err := field(o.Cluster, s.Doc)
		if err != nil {
			return r, err
		}
		r.group = group
	}
	value := s.values[metric]
	if len(value) == 0 || string(value) == "null" {
		r.reason = "no value of " + cmp.Or(metric, "the metric")
		return r, nil
	}
	score, ok := inspectValue(value)
	if !ok {
		return r, fmt.Errorf("the value %.60s of %s is no number", value, metric)
	}
	r.score = &score
	return r, nil
}
