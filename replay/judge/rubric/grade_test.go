package rubric

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/replay"
)

func twoCriteria() []Criterion {
	return []Criterion{{ID: "a", Dimension: "x", Weight: 3}, {ID: "b", Dimension: "x", Weight: 1}, {ID: "c", Dimension: "y", Weight: 2}}
}

const (
	resultA = `{"criterionId":"a","score":5,"reasoning":"r"}`
	resultB = `{"criterionId":"b","score":1}`
	resultC = `{"criterionId":"c","score":2.5,"reasoning":""}`
	rest    = `"aggregateScore":3.25,"dimensionScores":{"x":4,"y":2.5}`
)

func TestParseIsStrict(t *testing.T) {
	asked := twoCriteria()
	for _, text := range []string{
		`{"criterionResults":[` + resultA + `,` + resultB + `,` + resultC + `],` + rest + `}`,
		" \n{" + rest + `,"remark":{"any":1},"criterionResults":[` + resultC + `,` + resultA + `,` + resultB + "]}\n",
	} {
		g, err := parse(text, asked)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if g.scores[0] != (replay.CriterionScore{Criterion: "a", Dimension: "x", Score: 5, Reasoning: "r"}) || g.scores[2].Score != 2.5 || g.aggregate != 3.25 || g.dimensions["x"] != 4 {
			t.Errorf("%+v", g)
		}
		dimensions, overall := sums(g.scores, asked)
		if d := g.disagreement(dimensions, overall, asked); d != "" || dimensions["x"] != 4 || overall != 3.25 {
			t.Errorf("%v, %v: %s", dimensions, overall, d)
		}
	}
	whole := `{"criterionResults":[` + resultA + `,` + resultB + `,` + resultC + `],` + rest + `}`
	for name, text := range map[string]string{
		"nothing":             "",
		"no object":           `[]`,
		"fenced":              "```json\n" + whole + "\n```",
		"text before":         "Here: " + whole,
		"text after":          whole + " ok",
		"two objects":         whole + whole,
		"cut":                 whole[:len(whole)-1],
		"one missing":         strings.Replace(whole, ","+resultB, "", 1),
		"one twice":           strings.Replace(whole, resultB, resultA, 1),
		"one more":            strings.Replace(whole, resultB, resultB+`,{"criterionId":"d","score":1}`, 1),
		"unknown":             strings.Replace(whole, `"b"`, `"B"`, 1),
		"no id":               strings.Replace(whole, `"criterionId":"b",`, "", 1),
		"above 5":             strings.Replace(whole, `"score":1`, `"score":5.01`, 1),
		"below 0":             strings.Replace(whole, `"score":1`, `"score":-1`, 1),
		"score as text":       strings.Replace(whole, `"score":1`, `"score":"1"`, 1),
		"score null":          strings.Replace(whole, `"score":1`, `"score":null`, 1),
		"huge":                strings.Replace(whole, `"score":1`, `"score":1e999`, 1),
		"no score":            strings.Replace(whole, `,"score":1`, "", 1),
		"score twice":         strings.Replace(whole, `"score":1`, `"score":1,"score":2`, 1),
		"results twice":       strings.Replace(whole, `{`, `{"criterionResults":[],`, 1),
		"results null":        `{"criterionResults":null,` + rest + `}`,
		"no aggregate":        strings.Replace(whole, `"aggregateScore":3.25,`, "", 1),
		"aggregate above":     strings.Replace(whole, `3.25`, "6", 1),
		"no dimensions":       strings.Replace(whole, `,"dimensionScores":{"x":4,"y":2.5}`, "", 1),
		"unknown dimension":   strings.Replace(whole, `"y":2.5`, `"z":2.5`, 1),
		"dimension no number": strings.Replace(whole, `"y":2.5`, `"y":[2.5]`, 1),
		"reasoning no text":   strings.Replace(whole, `"reasoning":"r"`, `"reasoning":1`, 1),
		"deep":                `{"a":` + strings.Repeat("[", 20_000),
	} {
		if g, err := parse(text, asked); err == nil {
			t.Errorf("%s: %+v", name, g)
		} else if len(err.Error()) > 700 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

func TestTheGradersSumsAreChecked(t *testing.T) {
	asked := twoCriteria()
	g, err := parse(`{"criterionResults":[`+resultA+`,`+resultB+`,`+resultC+`],"aggregateScore":5,"dimensionScores":{"x":3}}`, asked)
	if err != nil {
		t.Fatal(err)
	}
	dimensions, overall := sums(g.scores, asked)
	if got, want := g.disagreement(dimensions, overall, asked), "aggregate 5.00, by its scores 3.25; x 3.00, by its scores 4.00; y not given, by its scores 2.50"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The means lie within the scores, don't depend on the order of the answers, and are
// those that the definition gives.
func TestSumsAreWeightedMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dimension := rapid.SampledFrom([]string{"x", "y", "z"})
		asked := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Criterion {
			return Criterion{Dimension: dimension.Draw(t, "dimension"), Weight: rapid.Float64Range(0.1, 9).Draw(t, "weight")}
		}), 1, 14).Draw(t, "asked")
		scores := make([]replay.CriterionScore, len(asked))
		lowest, highest := 5.0, 0.0
		for i := range asked {
			scores[i].Score = float64(rapid.IntRange(0, 10).Draw(t, "score")) / 2
			lowest, highest = min(lowest, scores[i].Score), max(highest, scores[i].Score)
		}
		dimensions, overall := sums(scores, asked)
		total := 0.0
		for name, mean := range dimensions {
			score, weight := 0.0, 0.0
			for i, c := range asked {
				if c.Dimension == name {
					score += c.Weight * scores[i].Score
					weight += c.Weight
				}
			}
			if math.Abs(mean-score/weight) > 1e-9 {
				t.Fatalf("%s is %v, want %v", name, mean, score/weight)
			}
			total += mean
		}
		if math.Abs(overall-total/float64(len(dimensions))) > 1e-9 || overall < lowest-1e-9 || overall > highest+1e-9 {
			t.Fatalf("overall %v of %v", overall, dimensions)
		}
		for i, j := 0, len(asked)-1; i < j; i, j = i+1, j-1 {
			asked[i], asked[j] = asked[j], asked[i]
			scores[i], scores[j] = scores[j], scores[i]
		}
		if _, again := sums(scores, asked); math.Abs(again-overall) > 1e-9 {
			t.Fatalf("%v in one order, %v in the other", overall, again)
		}
	})
}

func FuzzParse(f *testing.F) {
	whole := `{"criterionResults":[` + resultA + `,` + resultB + `,` + resultC + `],` + rest + `}`
	for _, seed := range []string{whole, whole[:40], `{}`, `null`, "```json\n{}\n```", strings.Replace(whole, `"score":1`, `"score":-0`, 1), "{\"a\":\"\xff\"}"} {
		f.Add(seed)
	}
	asked := twoCriteria()
	f.Fuzz(func(t *testing.T, text string) {
		g, err := parse(text, asked)
		if err != nil {
			return
		}
		if !json.Valid([]byte(text)) || len(g.scores) != len(asked) {
			t.Errorf("%q is %+v", text, g)
		}
		for i, s := range g.scores {
			if s.Criterion != asked[i].ID || !(s.Score >= 0 && s.Score <= 5) {
				t.Errorf("%q is %+v", text, g)
			}
		}
	})
}
