package offline

import (
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

// chunk is one event of a streamed answer.
type chunk struct {
	ID                string        `json:"id"`
	Object            string        `json:"object"`
	Created           int64         `json:"created"`
	Model             string        `json:"model"`
	SystemFingerprint string        `json:"system_fingerprint"`
	Choices           []chunkChoice `json:"choices"`
	Usage             *usage        `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	Logprobs     any     `json:"logprobs"`
	FinishReason *string `json:"finish_reason"`
}

type delta struct {
	Role      string     `json:"role,omitempty"`
	Content   *string    `json:"content,omitempty"`
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

// streamPiece is about how many bytes of text one event carries.
const streamPiece = 48

// stream writes an answer as server-sent events: role, pieces of text, calls,
// finish reason, the usage where it was asked for, [DONE].
func stream(w http.ResponseWriter, c *completion, r *reply, includeUsage bool) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flusher, _ := w.(http.Flusher)
	event := func(data []byte) bool {
		if _, err := w.Write(append(append([]byte("data: "), data...), "\n\n"...)); err != nil {
			return false // the client went away
		}
		if flusher != nil {
			flusher.Flush()
		}
		return true
	}
	send := func(choices []chunkChoice, u *usage) bool {
		data, err := json.Marshal(chunk{c.ID, "chat.completion.chunk", c.Created, c.Model, c.SystemFingerprint, choices, u})
		return err == nil && event(data)
	}
	for _, choice := range c.Choices {
		one := func(d delta, finish *string) bool {
			return send([]chunkChoice{{Index: choice.Index, Delta: d, FinishReason: finish}}, nil)
		}
		empty := ""
		if !one(delta{Role: "assistant", Content: &empty}, nil) {
			return
		}
		for _, piece := range pieces(r.text) {
			if !one(delta{Content: &piece}, nil) {
				return
			}
		}
		for i, call := range r.calls {
			if !one(delta{ToolCalls: []wireCall{{Index: &i, ID: call.id, Type: "function", Function: wireFunction{Name: call.name}}}}, nil) {
				return
			}
			for _, piece := range pieces(call.arguments) {
				if !one(delta{ToolCalls: []wireCall{{Index: &i, Function: wireFunction{Arguments: piece}}}}, nil) {
					return
				}
			}
		}
		if !one(delta{}, &choice.FinishReason) {
			return
		}
	}
	if includeUsage && !send([]chunkChoice{}, &c.Usage) {
		return
	}
	event([]byte("[DONE]"))
}

// pieces cuts a text between characters.
func pieces(text string) []string {
	var list []string
	for len(text) > streamPiece {
		at := streamPiece
		for at > 0 && !utf8.RuneStart(text[at]) {
			at--
		}
		if at == 0 {
			at = streamPiece // no text at all, but bytes
		}
		list = append(list, text[:at])
		text = text[at:]
	}
	if text != "" {
		list = append(list, text)
	}
	return list
}
