package rubric

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
)

// grades are what the grader says: a score for each criterion, and sums of its own.
type grades struct {
	scores     []replay.CriterionScore // in the order of the criteria asked
	aggregate  float64
	dimensions map[string]float64
}

// parse reads the grader's answer: one JSON object and nothing else, with every
// criterion asked exactly once and no other, and every score from 0 to 5.
func parse(text string, asked []Criterion) (*grades, error) {
	fields, err := object([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the grader's answer is not the JSON asked for (%w): %.120q", err, text)
	}
	var results []json.RawMessage
	if err := decode(fields, "criterionResults", &results); err != nil {
		return nil, err
	}
	g := &grades{scores: make([]replay.CriterionScore, len(asked))}
	for i, raw := range results {
		if err := g.result(raw, asked); err != nil {
			return nil, fmt.Errorf("criterionResults[%d]: %w", i, err)
		}
	}
	for i, c := range asked {
		if g.scores[i].Criterion == "" {
			return nil, fmt.Errorf("criterionResults: %s was asked and is missing", c.ID)
		}
	}
	if g.aggregate, err = score(fields, "aggregateScore"); err != nil {
		return nil, err
	}
	return g, g.ownSums(fields["dimensionScores"], asked)
}

func (g *grades) result(raw json.RawMessage, asked []Criterion) error {
	fields, err := object(raw)
	if err != nil {
		return err
	}
	var s replay.CriterionScore
	if err := decode(fields, "criterionId", &s.Criterion); err != nil {
		return err
	}
	if _, ok := fields["reasoning"]; ok {
		if err := decode(fields, "reasoning", &s.Reasoning); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(asked, func(c Criterion) bool { return c.ID == s.Criterion })
	if i < 0 {
		return fmt.Errorf("criterion %.60q was not asked", s.Criterion)
	}
	if g.scores[i].Criterion != "" {
		return fmt.Errorf("criterion %s stands twice", s.Criterion)
	}
	if s.Score, err = score(fields, "score"); err != nil {
		return fmt.Errorf("%s: %w", s.Criterion, err)
	}
	s.Dimension = asked[i].Dimension
	g.scores[i] = s
	return nil
}

func (g *grades) ownSums(raw json.RawMessage, asked []Criterion) error {
	fields, err := object(raw)
	if err != nil {
		return fmt.Errorf("dimensionScores: %w", err)
	}
	g.dimensions = map[string]float64{}
	for name := range fields {
		if !slices.ContainsFunc(asked, func(c Criterion) bool { return c.Dimension == name }) {
			return fmt.Errorf("dimensionScores: %.60q has no criterion that was asked", name)
		}
		if g.dimensions[name], err = score(fields, name); err != nil {
			return fmt.Errorf("dimensionScores: %w", err)
		}
	}
	return nil
}

// score reads a number from 0 to 5.
func score(fields map[string]json.RawMessage, name string) (float64, error) {
	raw, ok := fields[name]
	if !ok || len(raw) == 0 || (raw[0] != '-' && (raw[0] < '0' || raw[0] > '9')) {
		return 0, fmt.Errorf("%s is %.40q: want a number from %d to %d", name, raw, lowest, highest)
	}
	var v float64
	if err := json.Unmarshal(raw, &v); err != nil || !(v >= lowest && v <= highest) {
		return 0, fmt.Errorf("%s is %.40q: want a number from %d to %d", name, raw, lowest, highest)
	}
	return math.Abs(v), nil // -0 is 0
}

func decode(fields map[string]json.RawMessage, name string, into any) error {
	raw, ok := fields[name]
	if !ok || bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, into) != nil {
		return fmt.Errorf("%s is %.40q: not what was asked for", name, raw)
	}
	return nil
}

// object reads one JSON object and nothing else; a field that stands twice is refused,
// because no reading of it would be the right one.
func object(data []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("no object")
	}
	fields := map[string]json.RawMessage{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, errors.New("not valid")
		}
		name, ok := token.(string)
		if _, twice := fields[name]; !ok || twice {
			return nil, fmt.Errorf("the field %.60q stands twice", name)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, errors.New("not valid")
		}
		fields[name] = raw
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("not valid")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more text follows")
	}
	return fields, nil
}

// sums computes the weighted mean of each dimension and the plain mean of those.
func sums(scores []replay.CriterionScore, asked []Criterion) (dimensions map[string]float64, overall float64) {
	type sum struct{ score, weight float64 }
	var order []string
	totals := map[string]sum{}
	for i, c := range asked {
		t, seen := totals[c.Dimension]
		if !seen {
			order = append(order, c.Dimension)
		}
		totals[c.Dimension] = sum{t.score + c.Weight*scores[i].Score, t.weight + c.Weight}
	}
	dimensions = map[string]float64{}
	for _, name := range order { // a sum of floats depends on its order
		dimensions[name] = totals[name].score / totals[name].weight
		overall += dimensions[name] / float64(len(order))
	}
	return dimensions, overall
}

// tolerance is how far a grader's own sums may lie from ours, for it rounds them.
const tolerance = 0.051

// disagreement says where the grader's sums are not those of its scores.
func (g *grades) disagreement(dimensions map[string]float64, overall float64, asked []Criterion) string {
	var parts []string
	if math.Abs(g.aggregate-overall) > tolerance {
		parts = append(parts, fmt.Sprintf("aggregate %.2f, by its scores %.2f", g.aggregate, overall))
	}
	said := map[string]bool{}
	for _, c := range asked {
		if said[c.Dimension] {
			continue
		}
		said[c.Dimension] = true
		theirs, ok := g.dimensions[c.Dimension]
		switch {
		case !ok:
			parts = append(parts, fmt.Sprintf("%s not given, by its scores %.2f", c.Dimension, dimensions[c.Dimension]))
		case math.Abs(theirs-dimensions[c.Dimension]) > tolerance:
			parts = append(parts, fmt.Sprintf("%s %.2f, by its scores %.2f", c.Dimension, theirs, dimensions[c.Dimension]))
		}
	}
	return strings.Join(parts, "; ")
}
