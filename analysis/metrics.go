package analysis

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Metrics are the numbers that other harnesses know by these names, of the candidate.
// Each is null where there is nothing to count.
type Metrics struct {
	// EvidenceRecall is the share of scored decisions whose item is verbatim or supported.
	EvidenceRecall *float64 `json:"evidence_recall"`
	// ClaimSupportPrecision is the share of the agent's statements about items, after
	// the fork, whose words a labelled truth covers.
	ClaimSupportPrecision *float64 `json:"claim_support_precision"`
	// FalsehoodRejection is the share of planted falsehoods that the judge does not
	// support.
	FalsehoodRejection *float64 `json:"falsehood_rejection"`
	// TemporalAccuracy is the share of superseded items of which the context holds the
	// value of its time.
	TemporalAccuracy *float64 `json:"temporal_accuracy"`
	// LatencyMS are the answer times of the agent's model, in milliseconds; null for
	// the embedded provider, whose times say nothing.
	LatencyMS *Latency `json:"latency_ms"`
	// TokensPerQuery is the mean size of the agent's prompts, in tokens.
	TokensPerQuery *float64 `json:"tokens_per_query"`
}

// Latency is the median and the 95th percentile.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// metrics computes them for an arm.
func metrics(record *replay.Record, arm string, list []decision) Metrics {
	var m Metrics
	var all ItemCounts
	for i := range list {
		all.add(&list[i])
	}
	m.EvidenceRecall = rate(all)
	m.TemporalAccuracy = temporal(list)
	m.ClaimSupportPrecision = claims(record, arm)
	m.FalsehoodRejection = rejection(record)
	prompts, tokens := 0, 0
	for _, e := range record.Episodes {
		if e.Arm != arm || e.Replicate > 0 {
			continue
		}
		for _, x := range e.Exchanges {
			if x.For == "agent" {
				prompts++
				tokens += x.Usage.PromptTokens
			}
		}
	}
	if prompts > 0 {
		mean := float64(tokens) / float64(prompts)
		m.TokensPerQuery = &mean
	}
	m.LatencyMS = latency(record, arm)
	return m
}

func shareOf(n, total int) *float64 {
	if total == 0 {
		return nil
	}
	s := float64(n) / float64(total)
	return &s
}

func temporal(list []decision) *float64 {
	right, total := 0, 0
	for i := range list {
		d := &list[i]
		if d.fixture.StatusAt(d.item, d.compaction.AfterTurn) != fixtures.Superseded {
			continue
		}
		switch d.verdict {
		case replay.Retired:
			right++
			total++
		case replay.Stale:
			total++
		}
	}
	return shareOf(right, total)
}

func rejection(record *replay.Record) *float64 {
	rejected, total := 0, 0
	for _, c := range record.Controls {
		if c.Kind == replay.PlantedPresent || c.Verdict == replay.Unjudged {
			continue
		}
		total++
		if c.Verdict != replay.Supported {
			rejected++
		}
	}
	return shareOf(rejected, total)
}

// sentenceEnd cuts texts into sentences.
var sentenceEnd = regexp.MustCompile(`[.!?]\s+|\n+`)

// claims looks at each sentence that the agent says after the fork. It is about an
// item when the item's words cover a third of it; the truth about the item is its
// literal, its probe and the expected answer.
func claims(record *replay.Record, arm string) *float64 {
	const about = 1.0 / 3
	supported, total := 0, 0
	for _, e := range record.Episodes {
		if e.Arm != arm || e.Replicate > 0 {
			continue
		}
		f := record.Fixture(e.Fixture)
		for _, s := range e.Steps {
			if s.Kind != replay.StepText {
				continue
			}
			for _, sentence := range sentenceEnd.Split(s.Text, -1) {
				if strings.TrimSpace(sentence) == "" {
					continue
				}
				best, concerned := 0.0, false
				for i := range f.MustSurvive {
					item := &f.MustSurvive[i]
					if fixtures.Coverage(sentence, item.Literal) < about {
						continue
					}
					concerned = true
					best = max(best, fixtures.Coverage(sentence, item.Literal, item.Probe, item.Expect))
				}
				if concerned {
					total++
					if best >= fixtures.CoverageFloor {
						supported++
					}
				}
			}
		}
	}
	return shareOf(supported, total)
}

// latency takes the nearest-rank percentiles of the answer times.
func latency(record *replay.Record, arm string) *Latency {
	var times []float64
	for _, e := range record.Episodes {
		if e.Arm != arm || e.Replicate > 0 {
			continue
		}
		for _, x := range e.Exchanges {
			if x.For == "agent" && x.LatencyMS != nil {
				times = append(times, *x.LatencyMS)
			}
		}
	}
	if len(times) == 0 {
		return nil
	}
	slices.Sort(times)
	rank := func(p float64) float64 { return times[max(0, int(math.Ceil(p*float64(len(times))))-1)] }
	return &Latency{P50: rank(0.50), P95: rank(0.95)}
}
