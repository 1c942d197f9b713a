package modeltest

import (
	"encoding/json"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// Request is a request of [TestModel].
type Request struct {
	Name    string
	Request replay.Request
	// Calls says that the answer must call a tool.
	Calls bool
}

// Requests are conversations of every shape that the engine sends.
func Requests() []Request {
	user := func(text string) fixtures.Message { return fixtures.Message{Role: fixtures.RoleUser, Content: text} }
	system := func(text string) fixtures.Message {
		return fixtures.Message{Role: fixtures.RoleSystem, Content: text}
	}
	assistant := func(text string, calls ...fixtures.ToolCall) fixtures.Message {
		return fixtures.Message{Role: fixtures.RoleAssistant, Content: text, ToolCalls: calls}
	}
	call := func(id, name, arguments string) fixtures.ToolCall {
		return fixtures.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
	}
	result := func(id, text string) fixtures.Message {
		return fixtures.Message{Role: fixtures.RoleTool, ToolCallID: id, Content: text}
	}
	tools := []fixtures.Tool{
		{Name: "read_file", Description: "reads a file", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "list"},
	}
	request := func(tools []fixtures.Tool, messages ...fixtures.Message) replay.Request {
		return replay.Request{Model: "model-under-test", Seed: 7, Messages: messages, Tools: tools}
	}
	list := []Request{
		{Name: "a user", Request: request(nil, user("hello"))},
		{Name: "a system prompt", Request: request(nil, system("Be brief."), user("hello"))},
		{Name: "a tool to call", Request: request(tools, system("Be brief."), user("read a.txt")), Calls: true},
		{Name: "a result", Request: request(tools, user("read a.txt"), assistant("", call("c1", "read_file", `{"path":"a.txt"}`)), result("c1", "text of a"))},
		{Name: "an empty result", Request: request(tools, user("read a.txt"), assistant("Reading.", call("c1", "read_file", `{"path":"a.txt"}`)), result("c1", ""))},
		{Name: "calls at once", Request: request(tools,
			user("read both"), assistant("", call("c1", "read_file", `{"path":"a"}`), call("c2", "list", `{}`)), result("c1", "a"), result("c2", "b"))},
		{Name: "a user after results", Request: request(tools,
			user("read"), assistant("", call("c1", "list", `{}`)), result("c1", "a"), assistant("There is a."), user("and now?")), Calls: true},
		{Name: "one who speaks twice", Request: request(nil, user("one"), user("two"), assistant("three"), assistant("four"), user("five"))},
		{Name: "the assistant first", Request: request(nil, assistant("Summary of before."), user("go on"))},
		{Name: "a system message in between", Request: request(nil, system("Be brief."), user("one"), assistant("two"), system("Summary: three."), user("four"))},
		{Name: "an empty user", Request: request(nil, user("one"), assistant("two"), user(""), user("three"))},
		{Name: "other scripts", Request: request(nil, user("größer 日本語 \u2028 🙂 \"quoted\" \\ <b>"))},
	}
	asJSON := request(nil, system("Answer as JSON."), user("yes?"))
	asJSON.JSON = true
	bounded := request(nil, user("hello"))
	bounded.MaxTokens = 100
	return append(list, Request{Name: "JSON", Request: asJSON}, Request{Name: "a bounded answer", Request: bounded})
}
