package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
)

// labeller is the program of somebody else who labels an export: it goes by the documented
// format alone, computes every digest itself, and knows the formulas from the textbook.
func labeller() {
	if err := label(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "labeller:", err)
		os.Exit(1)
	}
}

func label(args []string) error {
	switch {
	case len(args) == 5 && args[0] == "label":
		return labelCases(args[1], args[2], args[3], args[4])
	case len(args) == 2 && args[0] == "shapes":
		return compareShapes(args[1])
	case len(args) == 3 && args[0] == "spoil":
		return spoilCase(args[1], args[2])
	case len(args) == 5 && args[0] == "compare":
		return compareLabels(args[1], args[2], args[3], args[4])
	}
	return errors.New("usage: labeller label CASES OUT RATER KIND | spoil CASES OUT | shapes CASES | compare REPORT FIRST SECOND JUDGE")
}

type labelledText struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
	Seen  *bool  `json:"seen_by_producer"`
}

type labelledCase struct {
	SampleID string `json:"sampleId"`
	Request  struct {
		Stage    string         `json:"stage"`
		Output   labelledText   `json:"output"`
		Claims   []labelledText `json:"claims"`
		Evidence []labelledText `json:"evidence"`
	} `json:"request"`
}

func hexDigest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func (c *labelledCase) digest() string {
	list := "doubletake case 1 " + c.Request.Stage + "\noutput " + hexDigest(c.Request.Output.Text) + "\n"
	for _, x := range c.Request.Claims {
		list += fmt.Sprintf("claim %s %d %d %s\n", x.ID, x.Start, x.End, hexDigest(x.Text))
	}
	for _, e := range c.Request.Evidence {
		seen, _ := json.Marshal(e.Seen) // a *bool can be written
		list += fmt.Sprintf("evidence %s %s %s %s\n", e.ID, e.Role, seen, hexDigest(e.Text))
	}
	return hexDigest(list)
}

// readLabelled reads JSON Lines.
func readLabelled[T any](path string) ([]T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var list []T
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var one T
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(list)+1, err)
		}
		list = append(list, one)
	}
	return list, lines.Err()
}

func writeLabelled(path string, records []any) error {
	var b strings.Builder
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// labelCases rates by a rule that knows nothing of the run: most claims are true; each
// rater has doubts about some others.
func labelCases(cases, out, rater, kind string) error {
	list, err := readLabelled[labelledCase](cases)
	if err != nil {
		return err
	}
	var ratings []any
	for i := range list {
		c := &list[i]
		claims := []any{}
		for _, x := range c.Request.Claims {
			truth, grounding := "true", "supported"
			switch draw := sha256.Sum256([]byte(x.Text)); draw[0] % 4 {
			case 0:
				truth = "false"
			case 1:
				truth, grounding = "unsupported", "unsupported"
			}
			if doubt := sha256.Sum256([]byte(rater + x.Text)); doubt[0]%5 == 0 {
				truth = "false"
			}
			evidence := []any{}
			if grounding == "supported" {
				evidence = append(evidence, map[string]any{"id": "e1", "start": 0, "end": 6})
			}
			claims = append(claims, map[string]any{"claim": x.ID, "truth": truth, "grounding": grounding, "evidence": evidence})
		}
		ratings = append(ratings, map[string]any{
			"caseSha256": c.digest(), "sampleId": c.SampleID, "rater": rater, "kind": kind, "ratings": claims,
			"expectedQuality": map[string]any{"relevance": 4, "repetition": nil, "usefulness": 3, "withholding": nil}, "reviewState": "Reviewed",
		})
	}
	return writeLabelled(out, ratings)
}

// compareShapes looks for what tells cases apart without reading them: the roles of
// evidence, who is said to have seen it, and how many there are.
func compareShapes(cases string) error {
	list, err := readLabelled[labelledCase](cases)
	if err != nil {
		return err
	}
	shapes := map[string]int{}
	shape := ""
	for i := range list {
		var kinds []string
		for _, e := range list[i].Request.Evidence {
			seen, _ := json.Marshal(e.Seen) // a *bool can be written
			kinds = append(kinds, fmt.Sprintf("%s %s", e.Role, seen))
		}
		shape = "evidence " + strings.Join(kinds, ", ")
		shapes[shape]++
	}
	if len(shapes) != 1 {
		return fmt.Errorf("the cases have %d shapes: %v", len(shapes), shapes)
	}
	fmt.Printf("%d of one shape: %s\n", len(list), shape)
	return nil
}

// spoilCase changes one byte of a text of evidence in the second case.
func spoilCase(cases, out string) error {
	list, err := readLabelled[map[string]any](cases)
	if err != nil {
		return err
	}
	if len(list) < 2 {
		return errors.New("want two cases or more")
	}
	evidence := list[1]["request"].(map[string]any)["evidence"].([]any)[0].(map[string]any)
	text := evidence["text"].(string)
	evidence["text"] = strings.Repeat("#", 1) + text[1:]
	var records []any
	for _, c := range list {
		records = append(records, c)
	}
	return writeLabelled(out, records)
}

type labelledRating struct {
	SampleID string `json:"sampleId"`
	Ratings  []struct {
		Claim string `json:"claim"`
		Truth string `json:"truth"`
	} `json:"ratings"`
}

// truthOf are the labels of a file by claim.
func truthOf(path string) (map[string]string, error) {
	list, err := readLabelled[labelledRating](path)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for _, r := range list {
		for _, x := range r.Ratings {
			labels[r.SampleID+"/"+x.Claim] = x.Truth
		}
	}
	return labels, nil
}

// kappaByHand is Cohen's kappa of the units that both labelled.
func kappaByHand(a, b map[string]string) float64 {
	n, same, chance := 0.0, 0.0, 0.0
	first, second := map[string]float64{}, map[string]float64{}
	for unit, label := range a {
		other, ok := b[unit]
		if !ok {
			continue
		}
		n++
		if label == other {
			same++
		}
		first[label]++
		second[other]++
	}
	for label, count := range first {
		chance += count / n * second[label] / n
	}
	return (same/n - chance) / (1 - chance)
}

// wilsonByHand are Wilson's limits as centre and half width.
func wilsonByHand(x, n float64) (low, high float64) {
	const z = 1.959963984540054
	p := x / n
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return math.Max(0, centre-half), math.Min(1, centre+half)
}

// compareLabels says whether a report of two people and a judge holds what the files give.
func compareLabels(report, first, second, judge string) error {
	data, err := os.ReadFile(report)
	if err != nil {
		return err
	}
	var got struct {
		Human struct {
			Labels int `json:"labels"`
			Truth  struct {
				Pairs []struct {
					Value float64 `json:"value"`
				} `json:"pairs"`
			} `json:"truth"`
		} `json:"human"`
		Judge struct {
			Truth struct {
				Judges []struct {
					Units int `json:"units"`
					Kappa struct {
						Value float64 `json:"value"`
					} `json:"kappa"`
					Sensitivity struct {
						Count, Total int
						Low, High    *float64
						Reason       string
					} `json:"sensitivity"`
				} `json:"judges"`
			} `json:"truth"`
		} `json:"judge"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		return err
	}
	var labels [3]map[string]string
	for i, path := range []string{first, second, judge} {
		if labels[i], err = truthOf(path); err != nil {
			return err
		}
	}
	resolved := map[string]string{}
	found, findings := 0, 0
	for unit, label := range labels[0] {
		if labels[1][unit] != label {
			continue
		}
		resolved[unit] = label
		if label != "true" {
			findings++
			if labels[2][unit] != "true" {
				found++
			}
		}
	}
	if len(got.Human.Truth.Pairs) != 1 || len(got.Judge.Truth.Judges) != 1 {
		return errors.New("the report has no pair of people, or no judge")
	}
	against := got.Judge.Truth.Judges[0]
	kappa, ofJudge := got.Human.Truth.Pairs[0].Value, against.Kappa.Value
	switch {
	case got.Human.Labels != len(labels[0])+len(labels[1]):
		return fmt.Errorf("%d labels in the report, %d in the files", got.Human.Labels, len(labels[0])+len(labels[1]))
	case math.Abs(kappa-kappaByHand(labels[0], labels[1])) > 1e-12:
		return fmt.Errorf("kappa %v in the report, %v by hand", kappa, kappaByHand(labels[0], labels[1]))
	case against.Units != len(resolved) || math.Abs(ofJudge-kappaByHand(resolved, labels[2])) > 1e-12:
		return fmt.Errorf("kappa of the judge %v on %d in the report, %v on %d by hand", ofJudge, against.Units, kappaByHand(resolved, labels[2]), len(resolved))
	case against.Sensitivity.Count != found || against.Sensitivity.Total != findings:
		return fmt.Errorf("sensitivity %d of %d in the report, %d of %d by hand", against.Sensitivity.Count, against.Sensitivity.Total, found, findings)
	}
	if s := against.Sensitivity; s.Low != nil {
		low, high := wilsonByHand(float64(found), float64(findings))
		if math.Abs(*s.Low-low) > 1e-12 || math.Abs(*s.High-high) > 1e-12 {
			return fmt.Errorf("sensitivity from %v to %v in the report, %v to %v by hand", *s.Low, *s.High, low, high)
		}
	} else if s.Reason == "" {
		return errors.New("sensitivity has neither limits nor a reason")
	}
	fmt.Printf("agrees: kappa %.4f, of the judge %.4f on %d units, sensitivity %d of %d\n", kappa, ofJudge, len(resolved), found, findings)
	return nil
}
