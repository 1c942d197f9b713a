package analysis

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis/stats"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Moved is the paired table of a class's decisions under incumbent and candidate.
type Moved struct {
	KeptLost int `json:"kept_lost"`
	LostKept int `json:"lost_kept"`
	// PWorse is the exact sign-flip p value over session groups: the decisions of one
	// conversation are not independent of each other. Null where nothing moved.
	PWorse *float64 `json:"p_worse"`
	Groups int      `json:"groups"`
}

// moved pairs decisions by identity.
func moved(incumbent, candidate []decision) (map[fixtures.Class]Moved, error) {
	before := byID(incumbent)
	out := map[fixtures.Class]Moved{}
	for _, class := range fixtures.Classes() {
		var m Moved
		groups := map[string]stats.Cluster{}
		for i := range candidate {
			d := &candidate[i]
			old := before[d.id()]
			if d.item.Class != class || old == nil || !d.binds || !scored(d.verdict) || !scored(old.verdict) {
				continue
			}
			c := groups[d.fixture.SessionGroup()]
			c.Pairs++
			switch {
			case old.verdict.Kept() && !d.verdict.Kept():
				m.KeptLost++
				c.Losses++
			case !old.verdict.Kept() && d.verdict.Kept():
				m.LostKept++
				c.Gains++
			}
			groups[d.fixture.SessionGroup()] = c
		}
		m.Groups = len(groups)
		if m.KeptLost+m.LostKept > 0 {
			var list []stats.Cluster
			for _, c := range groups {
				list = append(list, c)
			}
			flip, err := stats.SignFlip(list)
			if err != nil {
				return nil, fmt.Errorf("items of class %s: %w", class, err)
			}
			m.PWorse = &flip.PWorse
		}
		out[class] = m
	}
	return out, nil
}

func scored(v replay.Verdict) bool {
	switch v {
	case replay.Verbatim, replay.Supported, replay.Absent, replay.Contradicted:
		return true
	}
	return false
}

// Retention is what was kept of the items in force, by how old they were and by which
// compaction of the session it was.
type Retention struct {
	ByAge        []Kept `json:"by_age"`
	ByGeneration []Kept `json:"by_generation"`
}

// Kept counts decisions of one age or generation.
type Kept struct {
	Name   string `json:"name"`
	Kept   int    `json:"kept"`
	Scored int    `json:"scored"`
}

// ages are the upper ends of the age classes, in turns between statement and
// compaction; the last class has none.
func ages() []int { return []int{5, 15, 30, 60} }

// ageName names the class of an age in turns.
func ageName(age int) string {
	low := 0
	for _, high := range ages() {
		if age <= high {
			return fmt.Sprintf("%d to %s", low, counted(high, "turn"))
		}
		low = high + 1
	}
	return fmt.Sprintf("%s and more", counted(low, "turn"))
}

// retention counts by age and generation.
func retention(list []decision) Retention {
	bounds := ages()
	byAge := make([]Kept, len(bounds)+1)
	for i, high := range bounds {
		byAge[i].Name = ageName(high)
	}
	byAge[len(bounds)].Name = ageName(bounds[len(bounds)-1] + 1)
	byGeneration := []Kept{}
	for i := range list {
		d := &list[i]
		if !d.binds || !scored(d.verdict) {
			continue
		}
		age := d.compaction.AfterTurn - d.item.Turn
		at, _ := slices.BinarySearch(bounds, age)
		byAge[at].add(d.verdict)
		for len(byGeneration) <= d.compaction.Index {
			byGeneration = append(byGeneration, Kept{Name: fmt.Sprintf("compaction %d", len(byGeneration)+1)})
		}
		byGeneration[d.compaction.Index].add(d.verdict)
	}
	return Retention{byAge, byGeneration}
}

func (k *Kept) add(v replay.Verdict) {
	k.Scored++
	if v.Kept() {
		k.Kept++
	}
}

// Judge is what is known of the judge.
type Judge struct {
	Name string `json:"name"`
	// Controls are the planted questions, by kind; empty where none were planted.
	Controls map[replay.ControlKind]ControlCounts `json:"controls"`
	// Confusion counts the controls by expected and given verdict.
	Confusion map[replay.Verdict]map[replay.Verdict]int `json:"confusion"`
	// Accuracy is the share of controls that it got right, null without controls.
	Accuracy *float64 `json:"accuracy"`
	// Trusted says whether its verdicts count.
	Trusted bool   `json:"trusted"`
	Reason  string `json:"reason,omitempty"`
	// SecondOpinion compares the judge's supported and not supported with the
	// deterministic claim check, over the decisions that it judged.
	SecondOpinion SecondOpinion `json:"second_opinion"`
}

// ControlCounts counts controls.
type ControlCounts struct {
	Right int `json:"right"`
	Asked int `json:"asked"`
}

// SecondOpinion counts where judge and claim check agree.
type SecondOpinion struct {
	Agree int `json:"agree"`
	Total int `json:"total"`
}

// measureJudge reads the controls of a run.
func measureJudge(record *replay.Record, s Settings) Judge {
	j := Judge{
		Name: record.Run.Plan.Lineage.JudgeModel, Controls: map[replay.ControlKind]ControlCounts{},
		Confusion: map[replay.Verdict]map[replay.Verdict]int{}, Trusted: true,
	}
	right, silent := 0, 0
	for _, c := range record.Controls {
		if c.Verdict == replay.Unjudged {
			silent++
		}
		counts := j.Controls[c.Kind]
		counts.Asked++
		if c.Right {
			counts.Right++
			right++
		}
		j.Controls[c.Kind] = counts
		if j.Confusion[c.Expect] == nil {
			j.Confusion[c.Expect] = map[replay.Verdict]int{}
		}
		j.Confusion[c.Expect][c.Verdict]++
	}
	for _, v := range record.Judgements {
		if v.Judge == "" || !scored(v.Verdict) || v.Verdict == replay.Verbatim {
			continue
		}
		j.SecondOpinion.Total++
		if (v.Verdict == replay.Supported) == (v.Coverage >= fixtures.CoverageFloor) {
			j.SecondOpinion.Agree++
		}
	}
	if n := len(record.Controls); n > 0 {
		accuracy := float64(right) / float64(n)
		j.Accuracy = &accuracy
		if accuracy < s.JudgeAccuracy {
			j.Trusted = false
			unanswered := ""
			if silent > 0 {
				unanswered = fmt.Sprintf(" (%d have no answer)", silent)
			}
			j.Reason = fmt.Sprintf("it got %d of %d planted controls right%s, and %.0f%% is wanted: none of its verdicts counts", right, n, unanswered, 100*s.JudgeAccuracy)
		}
	} else {
		j.Reason = "no controls were planted"
	}
	return j
}

// pins names the pinned items whose literal is gone.
func pins(list []decision) []string {
	out := []string{}
	for i := range list {
		if brokenPin(&list[i]) {
			out = append(out, list[i].String())
		}
	}
	return out
}

// voices names the literals that came back in another voice.
func voices(list []decision) []string {
	out := []string{}
	for i := range list {
		if j := list[i].judgement; j != nil && j.Voice != "" {
			out = append(out, fmt.Sprintf("%s: %s", list[i].String(), j.Voice))
		}
	}
	return out
}
