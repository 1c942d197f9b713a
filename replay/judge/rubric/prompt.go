package rubric

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// probeMessages are what the agent is asked: the context as it is, and the probe.
func (r *Rubric) probeMessages(memory []fixtures.Message, probe *replay.Probe) []fixtures.Message {
	text := replay.Blocks(replay.Block{Tag: "probe", Text: probe.Question}) + strings.Join(r.ProbePrompt, "\n")
	return append(memory[:len(memory):len(memory)], fixtures.Message{Role: fixtures.RoleUser, Content: text})
}

// graderMessages are what the grader is asked.
func (r *Rubric) graderMessages(memory []fixtures.Message, probe *replay.Probe, response string) ([]fixtures.Message, error) {
	criteria, err := fixtures.MarshalPlain(r.criteria(probe.Kind))
	if err != nil {
		return nil, fmt.Errorf("writing the criteria: %w", err)
	}
	text := replay.Blocks(
		replay.Block{Tag: "probe_question", Text: probe.Question},
		replay.Block{Tag: "model_response", Text: response},
		replay.Block{Tag: "compacted_context", Text: replay.Transcript(memory)},
		replay.Block{Tag: "ground_truth", Text: truthText(probe)},
		replay.Block{Tag: "rubric_criteria", Text: string(criteria)},
	)
	return []fixtures.Message{
		{Role: fixtures.RoleSystem, Content: strings.Join(r.GraderPrompt, "\n")},
		{Role: fixtures.RoleUser, Content: text + "Reply with the JSON object."},
	}, nil
}

// truthText writes the truth as the grader reads it.
func truthText(probe *replay.Probe) string {
	var lines []string
	if probe.Answer != "" {
		lines = append(lines, "Answer: "+probe.Answer)
	}
	for _, fact := range probe.Truth {
		lines = append(lines, fmt.Sprintf("[turn %d, %s] %s", fact.Turn, fact.Role, fact.Text))
	}
	return strings.Join(lines, "\n")
}
