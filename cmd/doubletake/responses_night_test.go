package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/adversarial"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/offline"
	"github.com/doubletake-dev/doubletake/replay/responses"
)

// hostedWorld is a provider that speaks the Responses API with its compaction endpoint,
// and Chat Completions. The embedded provider thinks for it. Only it knows what its
// compaction items stand for.
type hostedWorld struct {
	t    *testing.T
	chat http.Handler

	mu        sync.Mutex
	hidden    map[string][]json.RawMessage // by encrypted content
	compacted int
	carried   int // agent's requests that carried an item
	inside    int
}

const hostedKey = "sk-hidden-hidden"

func (h *hostedWorld) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+hostedKey {
		http.Error(w, `{"error":{"message":"bad key"}}`, http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/v1/chat/completions" {
		h.chat.ServeHTTP(w, r)
		return
	}
	var body struct {
		Input []json.RawMessage
		Tools []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
		Instructions string
	}
	data, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(data, &body)
	}
	if err != nil {
		h.t.Errorf("%s: %v", r.URL.Path, err)
		return
	}
	input, carries := h.reveal(body.Input)
	if r.URL.Path == "/v1/responses/compact" {
		h.compact(w, body.Input, input)
		return
	}
	if carries {
		h.mu.Lock()
		h.carried++
		h.mu.Unlock()
	}
	var messages []map[string]any
	for len(input) > 0 && isSystem(input[0]) {
		var item struct{ Content []struct{ Text string } }
		_ = json.Unmarshal(input[0], &item)
		messages = append(messages, map[string]any{"role": "system", "content": item.Content[0].Text})
		input = input[1:]
	}
	read, err := responses.ReadItems(input)
	if err != nil {
		h.t.Errorf("the input cannot be read: %v", err)
		return
	}
	for _, m := range read {
		messages = append(messages, chatMessage(&m.Message))
	}
	if asked, ok := h.insideQuestion(read); ok {
		messages = []map[string]any{{"role": "user", "content": asked}}
	}
	request := map[string]any{"model": offlineAgent, "messages": messages, "temperature": 0}
	if len(body.Tools) > 0 {
		var tools []any
		for _, tool := range body.Tools {
			tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": tool.Name, "parameters": tool.Parameters}})
		}
		request["tools"] = tools
	}
	h.answer(w, request)
}

// reveal is the input with what its compaction items stand for, which is all that came
// before them.
func (h *hostedWorld) reveal(items []json.RawMessage) (input []json.RawMessage, carries bool) {
	for _, raw := range items {
		if !responses.IsCompaction(raw) {
			input = append(input, raw)
			continue
		}
		var item struct {
			Encrypted string `json:"encrypted_content"`
		}
		_ = json.Unmarshal(raw, &item)
		h.mu.Lock()
		known, ok := h.hidden[item.Encrypted]
		h.mu.Unlock()
		if !ok || string(raw) != compactionItem(item.Encrypted) {
			h.t.Errorf("this item was never made: %s", raw)
		}
		system := slices.IndexFunc(input, func(raw json.RawMessage) bool { return !isSystem(raw) })
		if system < 0 {
			system = len(input)
		}
		input, carries = append(slices.Clip(input[:system]), known...), true
	}
	return input, carries
}

func isSystem(raw json.RawMessage) bool { return strings.Contains(string(raw), `"role":"system"`) }

func compactionItem(encrypted string) string {
	return fmt.Sprintf(`{"id":"cmp_1","type":"compaction","encrypted_content":%q}`, encrypted)
}

func (h *hostedWorld) compact(w http.ResponseWriter, sent, input []json.RawMessage) {
	whole, _ := json.Marshal(input)
	encrypted := "gAAAA" + string(fixtures.HashBytes(whole))
	h.mu.Lock()
	h.hidden[encrypted] = input
	h.compacted++
	h.mu.Unlock()
	var output []string
	for _, raw := range sent {
		if strings.Contains(string(raw), `"role":"user"`) {
			output = append(output, strings.Replace(string(raw), "{", `{"id":"msg_1","status":"completed",`, 1))
		}
	}
	fmt.Fprintf(w, `{"id":"r","object":"response.compaction","output":[%s],"usage":{"input_tokens":100,"output_tokens":10}}`, strings.Join(append(output, compactionItem(encrypted)), ","))
}

var insideBlock = regexp.MustCompile(`(?s)^Stop here.*<statement-([0-9a-f]{16})>\n(.*)\n</statement-[0-9a-f]{16}>\n<question-[0-9a-f]{16}>\n(.*)\n</question-`)

// insideQuestion is the judge's question about the conversation itself.
func (h *hostedWorld) insideQuestion(read []responses.Read) (string, bool) {
	match := insideBlock.FindStringSubmatch(read[len(read)-1].Message.Content)
	if match == nil {
		return "", false
	}
	h.mu.Lock()
	h.inside++
	h.mu.Unlock()
	var messages []fixtures.Message
	for _, m := range read[:len(read)-1] {
		messages = append(messages, m.Message)
	}
	return replay.Blocks(replay.Block{Tag: "context", Text: replay.Transcript(messages)}, replay.Block{Tag: "statement", Text: match[2]}, replay.Block{Tag: "question", Text: match[3]}), true
}

func chatMessage(m *fixtures.Message) map[string]any {
	out := map[string]any{"role": m.Role, "content": m.Content}
	if m.ToolCallID != "" {
		out["tool_call_id"] = m.ToolCallID
	}
	var calls []any
	for _, call := range m.ToolCalls {
		calls = append(calls, map[string]any{"id": call.ID, "type": "function", "function": map[string]any{"name": call.Name, "arguments": string(call.Arguments)}})
	}
	if calls != nil {
		out["tool_calls"] = calls
	}
	return out
}

// answer asks the embedded provider and answers in the form of the Responses API.
func (h *hostedWorld) answer(w http.ResponseWriter, request map[string]any) {
	body, _ := json.Marshal(request)
	inner := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(body))
	recorder := httptest.NewRecorder()
	h.chat.ServeHTTP(recorder, inner)
	var got struct {
		Choices []struct {
			Message struct {
				Content string
				Calls   []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil || len(got.Choices) == 0 {
		h.t.Errorf("the embedded provider answered %s", recorder.Body)
		http.Error(w, "{}", http.StatusInternalServerError)
		return
	}
	var output []any
	if text := got.Choices[0].Message.Content; text != "" {
		output = append(output, map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": text}}})
	}
	for _, call := range got.Choices[0].Message.Calls {
		output = append(output, map[string]any{"type": "function_call", "call_id": call.ID, "name": call.Function.Name, "arguments": call.Function.Arguments})
	}
	answer, _ := json.Marshal(map[string]any{"model": "gpt-hosted", "status": "completed", "output": output, "usage": map[string]int{"input_tokens": 10, "output_tokens": 2}})
	_, _ = w.Write(answer)
}

// TestNightWithOpaqueCompactions plays a night through OpenAI's own compaction, on a
// server written from its documentation: the agent goes on from what it can't show, the
// second compaction gets the first one's item unchanged, and an item that can't be read
// is asked for at the model itself and never called absent.
func TestNightWithOpaqueCompactions(t *testing.T) {
	files, err := adversarial.Files()
	if err != nil {
		t.Fatal(err)
	}
	library, err := offline.LoadLibrary(files)
	if err != nil {
		t.Fatal(err)
	}
	world := &hostedWorld{t: t, chat: offline.NewHandler(library), hidden: map[string][]json.RawMessage{}}
	server := httptest.NewServer(world)
	defer server.Close()
	dir := t.TempDir()
	const set = "agent: { model: gpt-hosted, api: responses, base_url: %[1]q }\njudge: { model: offline-judge, base_url: %[1]q }\n" +
		"compactors: { hosted: { preset: openai-compact }, summary: { use: keep-ends } }\n"
	path := filepath.Join(dir, "doubletake.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, set, server.URL+"/v1"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	play := func(out, mode string) []byte {
		cmd := doubletake(t, "compare", "summary", "hosted", "-c", path, "--fixture", "forbidden-directory", "--fixture", "worktree-deleted-before-verify",
			"--out", out, "--cache", mode, "--cache-dir", filepath.Join(dir, "cache"))
		cmd.Env = append(cmd.Environ(), "OPENAI_API_KEY="+hostedKey)
		printed, _ := cmd.CombinedOutput() // the exit code says which arm is worse, and is not asked here
		return printed
	}
	printed := play(run, "write")
	record, err := replay.ReadRecord(run)
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	compactions := 0
	for _, e := range record.Episodes {
		if e.Arm != "hosted" {
			continue
		}
		if e.Status != replay.Played {
			t.Errorf("%s is %s: %s", e.ConversationID, e.Status, e.Reason)
		}
		for _, c := range e.Compactions {
			if compactions++; !c.Opaque || c.Status != replay.Compacted {
				t.Errorf("%s: %+v", e.ConversationID, c)
			}
		}
	}
	verdicts := map[replay.Verdict]int{}
	asked := 0
	for _, j := range record.Judgements {
		if j.Arm == "hosted" {
			verdicts[j.Verdict]++
			if j.Exchange != nil {
				asked++
			}
		}
	}
	if world.compacted < compactions || compactions < 4 || world.carried == 0 || world.inside == 0 || asked == 0 {
		t.Errorf("%d compactions asked for, %d recorded, %d requests carried an item, %d questions inside, %d judgements asked for", world.compacted, compactions, world.carried, world.inside, asked)
	}
	if verdicts[replay.Absent] > 0 || verdicts[replay.Verbatim] == 0 || verdicts[replay.Supported]+verdicts[replay.Stale]+verdicts[replay.Retired] == 0 {
		t.Errorf("the verdicts are %v\n%s", verdicts, printed)
	}
	if l := record.Run.Plan.Lineage; l.AgentAPI != "responses" || l.InsidePrompt == "" || !strings.Contains(l.AgentSent, "no seed") {
		t.Errorf("the lineage is %+v", l)
	}
	for _, name := range []string{replay.RunFile, replay.EpisodesFile, replay.JudgementsFile} {
		data, err := os.ReadFile(filepath.Join(run, name))
		if err != nil || bytes.Contains(data, []byte(hostedKey)) {
			t.Errorf("%s holds the key, or cannot be read: %v", name, err)
		}
	}

	// Compactions are paid once, too: a second night asks for none, and plays without a network.
	before := world.compacted
	play(filepath.Join(dir, "second"), "write")
	if world.compacted != before {
		t.Errorf("the second night asked for %d compactions", world.compacted-before)
	}
	server.Close()
	printed = play(filepath.Join(dir, "only"), "only")
	for _, name := range []string{replay.PairsFile, replay.QueueFile} {
		want, err := os.ReadFile(filepath.Join(run, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "only", name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("without a network %s is another one: %v\n%s", name, err, printed)
		}
	}
}
