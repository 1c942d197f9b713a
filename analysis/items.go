package analysis

import (
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// decisionID is the identity of a compaction decision over arms.
type decisionID struct {
	fixture    fixtures.Hash
	replicate  int
	compaction int
	item       string
}

// decisions are an arm's judgements by decision.
func decisions(record *replay.Record, arm string) map[decisionID]*replay.Judgement {
	out := map[decisionID]*replay.Judgement{}
	for _, j := range record.Judgements {
		if j.Arm == arm {
			out[decisionID{j.Fixture, j.Replicate, j.Compaction, j.Item}] = j
		}
	}
	return out
}

// countItems counts an arm's decisions by class and verdict.
func countItems(record *replay.Record, arm string) map[fixtures.Class]ItemCounts {
	counts := map[fixtures.Class]ItemCounts{}
	for _, class := range fixtures.Classes() {
		counts[class] = ItemCounts{}
	}
	for _, j := range decisions(record, arm) {
		c := counts[j.Class]
		c.Total++
		switch j.Verdict {
		case replay.Verbatim:
			c.Verbatim++
		case replay.Supported:
			c.Supported++
		case replay.Absent:
			c.Absent++
		case replay.Contradicted:
			c.Contradicted++
		default:
			c.Unscored++
		}
		counts[j.Class] = c
	}
	return counts
}

func contradictions(counts map[fixtures.Class]ItemCounts) int {
	n := 0
	for _, c := range counts {
		n += c.Contradicted
	}
	return n
}

// moved lists the decisions of a class (or of all, for "") whose verdict satisfies
// bad under the candidate and not under the incumbent, in the set's order.
func moved(record *replay.Record, incumbent, candidate string, class fixtures.Class, bad func(replay.Verdict) bool) []string {
	old, now := decisions(record, incumbent), decisions(record, candidate)
	var list []string
	for _, e := range record.Episodes {
		if e.Arm != candidate || e.Replicate > 0 {
			continue
		}
		f := record.Fixture(e.Fixture)
		for _, c := range e.Compactions {
			for _, item := range f.MustSurvive {
				id := decisionID{e.Fixture, e.Replicate, c.Index, item.ID}
				j := now[id]
				if j == nil || !bad(j.Verdict) || (class != "" && item.Class != class) {
					continue
				}
				if before := old[id]; before != nil && bad(before.Verdict) {
					continue
				}
				list = append(list, fmt.Sprintf("%s %s (turn %d, compaction %d, %s): %q", e.ConversationID, item.ID, item.Turn, c.Index+1, j.Verdict, item.Literal))
			}
		}
	}
	return list
}

func lost(v replay.Verdict) bool { return v == replay.Absent || v == replay.Contradicted }

func contradicted(v replay.Verdict) bool { return v == replay.Contradicted }

// promptTokens sums the contexts around an arm's compactions.
func promptTokens(record *replay.Record, arm string) BeforeAfter {
	var sum BeforeAfter
	for _, e := range record.Episodes {
		if e.Arm != arm || e.Replicate > 0 {
			continue
		}
		for _, c := range e.Compactions {
			if c.Status == replay.Compacted {
				sum.Before += c.TokensBefore
				sum.After += c.TokensAfter
			}
		}
	}
	if sum.Before > 0 {
		ratio := float64(sum.After) / float64(sum.Before)
		sum.Ratio = &ratio
	}
	return sum
}

// countCompactions counts what came of an arm's compactions.
func countCompactions(record *replay.Record, arm string) CompactionCounts {
	counts := CompactionCounts{Findings: []string{}, Rules: countRules(record, arm)}
	for _, e := range record.Episodes {
		if e.Arm != arm || e.Replicate > 0 {
			continue
		}
		for _, c := range e.Compactions {
			place := fmt.Sprintf("%s, after turn %d: ", e.ConversationID, c.AfterTurn)
			switch c.Status {
			case replay.Compacted:
				counts.Compacted++
				if c.TokensAfter >= c.TokensBefore {
					counts.NotSmaller++
				}
			case replay.Unchanged:
				counts.Unchanged++
			case replay.Refused:
				counts.Refused++
			default:
				counts.Error++
			}
			if c.Status != replay.Compacted {
				counts.Findings = append(counts.Findings, place+string(c.Status)+": "+c.Reason)
			}
		}
	}
	return counts
}

// countRules counts at how many of an arm's compactions each rule held.
func countRules(record *replay.Record, arm string) map[replay.Rule]RuleCount {
	counts := map[replay.Rule]RuleCount{}
	for _, e := range record.Episodes {
		if e.Arm != arm || e.Replicate > 0 {
			continue
		}
		for _, c := range e.Compactions {
			for _, result := range c.Rules {
				count := counts[result.Rule]
				count.Checked++
				if result.Held {
					count.Held++
				} else if count.First == "" {
					count.First = fmt.Sprintf("%s, after turn %d: %s", e.ConversationID, c.AfterTurn, result.Counter)
				}
				counts[result.Rule] = count
			}
		}
	}
	return counts
}

// usage sums the distinct answers that the run took.
func usage(record *replay.Record) Usage {
	seen := map[fixtures.Hash]replay.Exchange{}
	note := func(e replay.Exchange) {
		if old, ok := seen[e.Key]; !ok || (old.Stored && !e.Stored) {
			seen[e.Key] = e
		}
	}
	for _, e := range record.Episodes {
		for _, x := range e.Exchanges {
			note(x)
		}
	}
	for _, j := range record.Judgements {
		if j.Exchange != nil {
			note(*j.Exchange)
		}
	}
	u := Usage{}
	cost, unpriced := 0.0, 0
	for _, key := range slices.Sorted(maps.Keys(seen)) { // a sum of floats depends on its order
		x := seen[key]
		if x.Stored {
			u.Cached++
			continue
		}
		u.Requests++
		u.PromptTokens += x.Usage.PromptTokens
		u.CachedTokens += x.Usage.CachedTokens
		u.CompletionTokens += x.Usage.CompletionTokens
		if x.CostUSD == nil {
			unpriced++
		} else {
			cost += *x.CostUSD
		}
	}
	if unpriced > 0 {
		u.CostReason = fmt.Sprintf("%d answers are of models without a price in the config", unpriced)
	} else {
		u.CostUSD = &cost
	}
	return u
}

// fingerprints lists the provider fingerprints that answered.
func fingerprints(record *replay.Record) []string {
	var list []string
	for _, e := range record.Episodes {
		for _, x := range e.Exchanges {
			if x.Fingerprint != "" && x.For == "agent" && !slices.Contains(list, x.Fingerprint) {
				list = append(list, x.Fingerprint)
			}
		}
	}
	slices.Sort(list)
	return list
}
