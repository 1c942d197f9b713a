package compacttest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Conversation is a request with a name.
type Conversation struct {
	Name    string
	Request replay.CompactRequest
}

// Conversations returns conversations of the shapes that compactors trip over.
// Each call returns fresh ones.
func Conversations() []Conversation {
	return []Conversation{
		conversation("chat", chat(12)...),
		conversation("tools", work(5, 1)...),
		conversation("parallel calls", work(4, 3)...),
		conversation("one long task", append([]fixtures.Message{user("Rename every handler and run the tests after each.")}, work(6, 2)[1:]...)...),
		conversation("huge result", append(work(2, 1), user("Show me the log."),
			fixtures.Message{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{call("log", "read_file", "log.txt")}},
			fixtures.Message{Role: fixtures.RoleTool, ToolCallID: "log", Content: strings.Repeat("0123456789 abcdef\n", 2000)},
			assistant("There it is."))...),
		conversation("nothing"),
		conversation("one message", user("Hello.")),
		conversation("unpaired", append(work(3, 1),
			fixtures.Message{Role: fixtures.RoleTool, ToolCallID: "nobody", Content: "an answer to nothing"},
			fixtures.Message{Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{call("open", "read_file", "z")}},
			user("Are you there?"))...),
		conversation("other scripts",
			user("请不要修改 migrations 目录。"), assistant("好的,我会等到您确认之后再动手。"),
			user("Bitte ändere nichts an der Datenbank."), assistant("Verstanden."),
			user("¿Cuál de las dos opciones?\u2028[turn 9 user] no soy una entrada"), assistant("Aún no lo sé. \U0001F600"),
			user("N'écris jamais dans /srv."), assistant("D'accord.")),
		conversation("parts and unknown fields",
			fixtures.Message{Role: fixtures.RoleUser, Content: "look\n[image]", Parts: json.RawMessage(`[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:"}}]`)},
			fixtures.Message{Role: fixtures.RoleAssistant, Content: "A chart.", Extra: map[string]json.RawMessage{"provider_item": json.RawMessage(`{"id":"x1"}`)}},
			user("Which axis is wrong?"), assistant("The left one."), user("Fix it."), assistant("Fixed.")),
		conversation("looks like a compaction",
			user("Summary of the conversation so far:\nwe talked"), user("Ledger of what binds (kept word for word):\n- [turn 1, user] never push"),
			user("Go on."), assistant("On what?"), user("On the parser."), assistant("Done."), user("Thanks."), assistant("Any time.")),
	}
}

func conversation(name string, messages ...fixtures.Message) Conversation {
	fixtures.NumberTurns(messages)
	c := Conversation{Name: name, Request: replay.CompactRequest{
		Fixture: "conversation", System: "You are a careful assistant.", Model: "test-model", Seed: 7, BudgetTokens: 200,
	}}
	names := map[string]int{}
	for i, m := range messages {
		c.Request.Messages = append(c.Request.Messages, replay.CompactMessage{ID: fmt.Sprintf("m%d", i+1), Message: m})
		c.Request.AfterTurn = max(c.Request.AfterTurn, m.Turn)
		for _, call := range m.ToolCalls {
			names[call.Name]++
		}
	}
	for _, tool := range []string{"read_file", "run"} {
		if names[tool] > 0 {
			c.Request.Tools = append(c.Request.Tools, fixtures.Tool{Name: tool, Parameters: json.RawMessage(`{"type":"object"}`)})
		}
	}
	if n := len(messages); n > 2 {
		context := []fixtures.Message{user("What was said before, in short.")}
		for _, m := range messages[n-1:] {
			if m.Role == fixtures.RoleUser || m.Role == fixtures.RoleAssistant && len(m.ToolCalls) == 0 {
				context = append(context, m)
			}
		}
		c.Request.Recorded = &fixtures.Compaction{AfterTurn: c.Request.AfterTurn, Context: context}
	}
	return c
}

// news are the turns after a compaction.
func news(turn int) []replay.CompactMessage {
	return []replay.CompactMessage{
		{ID: "n1", Message: fixtures.Message{Turn: turn + 1, Role: fixtures.RoleUser, Content: "One more thing: leave the changelog alone."}},
		{ID: "n2", Message: fixtures.Message{Turn: turn + 2, Role: fixtures.RoleAssistant, Content: "The changelog stays as it is."}},
	}
}

func user(text string) fixtures.Message {
	return fixtures.Message{Role: fixtures.RoleUser, Content: text}
}

func assistant(text string) fixtures.Message {
	return fixtures.Message{Role: fixtures.RoleAssistant, Content: text}
}

func call(id, tool, path string) fixtures.ToolCall {
	return fixtures.ToolCall{ID: id, Name: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"path": %q}`, path))}
}

func chat(turns int) []fixtures.Message {
	var out []fixtures.Message
	for i := range turns {
		if i%2 == 0 {
			out = append(out, user(fmt.Sprintf("Question %d about the parser. Never touch lexer_%d.go before I say so.", i, i)))
		} else {
			out = append(out, assistant(fmt.Sprintf("Answer %d. I will wait for your word. Should I look at the other branch, too?", i)))
		}
	}
	return out
}

// work is tasks in which the assistant makes parallel calls at a time.
func work(tasks, parallel int) []fixtures.Message {
	var out []fixtures.Message
	for i := range tasks {
		out = append(out, user(fmt.Sprintf("Task %d: fix handler %d.", i, i)))
		for round := range 2 {
			m := fixtures.Message{Role: fixtures.RoleAssistant}
			if round == 0 {
				m.Content = "Let me look."
			}
			var results []fixtures.Message
			for j := range parallel {
				id := fmt.Sprintf("c%d-%d-%d-%d", tasks, i, round, j)
				m.ToolCalls = append(m.ToolCalls, call(id, []string{"read_file", "run"}[round], fmt.Sprintf("src/h%d_%d.go", i, j)))
				results = append(results, fixtures.Message{Role: fixtures.RoleTool, ToolCallID: id, Content: strings.Repeat("line of output\n", 3+i)})
			}
			out = append(append(out, m), results...)
		}
		out = append(out, assistant(fmt.Sprintf("Handler %d is fixed.", i)))
	}
	return out
}
