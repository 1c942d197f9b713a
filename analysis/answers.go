package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
)

// FingerprintCount is one of several builds of a model that answered.
type FingerprintCount struct {
	// For is what was asked for, as exchanges say it.
	For         string `json:"for"`
	Fingerprint string `json:"fingerprint"`
	Answers     int    `json:"answers"`
}

// fingerprintCounts lists the fingerprints for each purpose for which several answered,
// most answers first.
func fingerprintCounts(record *replay.Record) []FingerprintCount {
	counts := map[FingerprintCount]int{}
	several := map[string]int{}
	for _, x := range record.Exchanges() {
		if x.Fingerprint == "" {
			continue
		}
		key := FingerprintCount{For: x.For, Fingerprint: x.Fingerprint}
		if counts[key]++; counts[key] == 1 {
			several[x.For]++
		}
	}
	var list []FingerprintCount
	for key, n := range counts {
		if several[key.For] > 1 {
			key.Answers = n
			list = append(list, key)
		}
	}
	slices.SortFunc(list, func(a, b FingerprintCount) int {
		return cmp.Or(cmp.Compare(a.For, b.For), cmp.Compare(b.Answers, a.Answers), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return list
}

// noteAnswers adds what a reader must know of those who answered: that they changed in
// the middle of the run, and that they were asked otherwise than planned.
func (a *analyser) noteAnswers() {
	a.report.Fingerprints = fingerprintCounts(a.record)
	for i := 0; i < len(a.report.Fingerprints); {
		purpose := a.report.Fingerprints[i].For
		var texts []string
		for ; i < len(a.report.Fingerprints) && a.report.Fingerprints[i].For == purpose; i++ {
			f := a.report.Fingerprints[i]
			texts = append(texts, fmt.Sprintf("%.60s (%d)", f.Fingerprint, f.Answers))
		}
		a.notes = append(a.notes, fmt.Sprintf("the provider's fingerprint changed within the run (%s): %s", purpose, strings.Join(texts, ", ")))
	}
	planned := map[string]string{"agent": a.record.Run.Plan.Lineage.AgentSent, "judge": a.record.Run.Plan.Lineage.JudgeSent}
	otherwise := map[string]int{}
	for _, x := range a.record.Exchanges() {
		if x.Sent != "" && x.Sent != planned[x.For] {
			otherwise[fmt.Sprintf("for the %s with %s", x.For, x.Sent)]++
		}
	}
	for _, text := range slices.Sorted(maps.Keys(otherwise)) {
		a.notes = append(a.notes, fmt.Sprintf("%s asked %s", counted(otherwise[text], "answer"), text))
	}
}

// observed is the plan of a run with how its models were really asked: a parameter that
// a model refused in the middle of a run makes another lineage than one that it took.
func observed(record *replay.Record) *replay.Plan {
	plan := record.Run.Plan
	for purpose, sent := range map[string]*string{"agent": &plan.Lineage.AgentSent, "judge": &plan.Lineage.JudgeSent} {
		found := map[string]bool{}
		for _, x := range record.Exchanges() {
			if x.For == purpose && x.Sent != "" && x.Sent != *sent {
				found[x.Sent] = true
			}
		}
		if len(found) > 0 {
			*sent = strings.Join(slices.Sorted(maps.Keys(found)), "; ")
		}
	}
	return &plan
}

// varies says why the agent's model may answer equal requests differently while nothing
// in the run tells how often it does; empty where that is known, or need not be.
func (a *analyser) varies() string {
	if a.record.Arm(RoleControl) != nil {
		return ""
	}
	for _, x := range a.record.Exchanges() {
		if x.For == "agent" && strings.Contains(x.Sent, "no temperature") {
			return "the agent's model refused temperature 0, so that its answers vary, and there was no control: set nightly.control: true"
		}
	}
	return ""
}
