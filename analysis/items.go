package analysis

import (
	"fmt"
	"slices"

	"github.com/doubletake-dev/doubletake/replay"
)

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
				if c.NotRecorded {
					counts.NotRecorded++
				} else {
					counts.Refused++
				}
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
	u := Usage{}
	cost, unpriced := 0.0, 0
	for _, x := range record.Exchanges() {
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
