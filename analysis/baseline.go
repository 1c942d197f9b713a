package analysis

import (
	"cmp"
	"fmt"

	"github.com/doubletake-dev/doubletake/replay"
)

// recallFall is how far evidence_recall may fall below a baseline.
const recallFall = 0.02

// Baseline is a run held against an earlier one.
type Baseline struct {
	Run string `json:"run"`
	// Differences are the parts of the lineage that differ. With any, the baseline is
	// shown and gates nothing.
	Differences []string `json:"differences"`
	// Gates are the rows that it arms.
	Gates []Gate `json:"gates"`
}

// Against holds the run's candidate against that of an earlier run. Only a baseline of
// the same lineage arms rows.
func (n *Night) Against(earlier *Night) Baseline {
	b := Baseline{Run: earlier.Record.Run.ID, Differences: LineageDifferences(observed(earlier.Record), observed(n.Record)), Gates: []Gate{}}
	if len(b.Differences) > 0 {
		return b
	}
	in := n.gates
	in.old, in.incumbent = earlier.gates.now, "the baseline"
	rows := append(in.items(), recall(n.Report.Metrics.EvidenceRecall, earlier.Report.Metrics.EvidenceRecall))
	for _, g := range rows {
		g.Name = "baseline: " + g.Name
		b.Gates = append(b.Gates, g)
	}
	return b
}

// recall is the row for evidence_recall, which may fall a little below a baseline.
func recall(now, then *float64) Gate {
	g := Gate{Name: "evidence_recall", Value: now, Incumbent: then, Status: GatePass}
	if now == nil || then == nil {
		g.Status, g.Reason = GateUnscored, "nothing to go by"
		return g
	}
	floor := *then - recallFall
	g.Floor = &floor
	if *now < floor {
		g.Status, g.Reason = GateRegressed, fmt.Sprintf("more than %.2f below the baseline", recallFall)
	}
	return g
}

// part names the part of the set that a run plays.
func part(p *replay.Plan) string {
	if p.Shard == nil {
		return "all"
	}
	return p.Shard.String()
}

// LineageDifferences names the parts in which two plans differ such that their results
// must not be compared. Compactors differ between nights by design.
func LineageDifferences(a, b *replay.Plan) []string {
	var out []string
	differ := func(what string, x, y any) {
		if x != y {
			out = append(out, fmt.Sprintf("%s: %v there, %v here", what, x, y))
		}
	}
	differ("set", a.Lineage.SetName, b.Lineage.SetName)
	differ("set version", a.Lineage.SetVersion, b.Lineage.SetVersion)
	differ("set hash", a.Lineage.SetHash, b.Lineage.SetHash)
	differ("fixtures played", a.Fixtures, b.Fixtures)
	differ("part of the set", part(a), part(b))
	differ("agent model", a.Lineage.AgentModel, b.Lineage.AgentModel)
	differ("agent endpoint", a.Lineage.Endpoint, b.Lineage.Endpoint)
	differ("judge model", a.Lineage.JudgeModel, b.Lineage.JudgeModel)
	differ("judge prompt", a.Lineage.JudgePrompt, b.Lineage.JudgePrompt)
	differ("user model", a.Lineage.UserModel, b.Lineage.UserModel)
	differ("user endpoint", a.Lineage.UserEndpoint, b.Lineage.UserEndpoint)
	differ("user prompt", a.Lineage.UserPrompt, b.Lineage.UserPrompt)
	differ("agent API", a.Lineage.AgentAPI, b.Lineage.AgentAPI)
	differ("judge API", a.Lineage.JudgeAPI, b.Lineage.JudgeAPI)
	differ("what the agent is sent", a.Lineage.AgentSent, b.Lineage.AgentSent)
	differ("what the judge is sent", a.Lineage.JudgeSent, b.Lineage.JudgeSent)
	differ("bound of the agent's answers", a.Lineage.AgentMaxTokens, b.Lineage.AgentMaxTokens)
	differ("bound of the judge's answers", a.Lineage.JudgeMaxTokens, b.Lineage.JudgeMaxTokens)
	differ("prompt for opaque contexts", a.Lineage.InsidePrompt, b.Lineage.InsidePrompt)
	differ("injected failure", cmp.Or(a.Lineage.Injected, "none"), cmp.Or(b.Lineage.Injected, "none"))
	if a.Lineage.Injected != "" && a.Lineage.Injected == b.Lineage.Injected {
		out = append(out, fmt.Sprintf("injected failure: %s, and such a run is no baseline", a.Lineage.Injected))
	}
	differ("mode", a.Settings.Mode, b.Settings.Mode)
	differ("seed", a.Lineage.Seed, b.Lineage.Seed)
	differ("window", a.Settings.Window, b.Settings.Window)
	differ("trigger", a.Settings.Trigger, b.Settings.Trigger)
	differ("step limit", a.Settings.StepLimit, b.Settings.StepLimit)
	return out
}
