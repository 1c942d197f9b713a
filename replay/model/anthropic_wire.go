package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// messagesCall carries one call of the Messages API for the library. It reads the answer
// whole, so that whatever is no message becomes a [*ProviderError] with its status and an
// excerpt, and keeps what was sent and received.
type messagesCall struct {
	wire *wire
	// sent and received are the bodies, with the key taken out.
	sent, received []byte
}

// Do sends one request.
func (c *messagesCall) Do(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, fmt.Errorf("composing the request: %w", err)
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		c.sent = []byte(c.wire.scrub(string(body)))
	}
	response, answer, err := c.wire.send(request, new(exchange))
	if err != nil {
		return nil, err
	}
	c.received = answer
	if fault := c.fault(response, answer); fault != nil {
		return nil, fault
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	response.ContentLength = int64(len(answer))
	response.Header.Set("Content-Type", "application/json") // the library goes by it, and some servers forget it
	return response, nil
}

// fault says what is wrong with an answer, or returns nil for a message.
func (c *messagesCall) fault(response *http.Response, answer []byte) error {
	fault := &ProviderError{Status: response.StatusCode, RetryAfter: askedWait(response.Header, time.Now())}
	var shape struct {
		Type  string `json:"type"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
		Content []struct {
			Type string `json:"type"`
		} `json:"content"`
		Stop string `json:"stop_reason"`
	}
	err := json.Unmarshal(answer, &shape)
	said := c.wire.excerpt(answer)
	if err == nil && shape.Error.Message != "" {
		said = cut(shape.Error.Message, 1000)
		if shape.Error.Type != "" {
			said = cut(shape.Error.Type, 100) + ": " + said
		}
	}
	switch {
	case response.StatusCode != http.StatusOK:
		fault.Message = said
		fault.Parameter, fault.Kind = kindOfError(response.StatusCode, &errorShape{Message: said}, "")
	case err != nil:
		fault.Message, fault.broken = "the answer is no message: "+said, true
	case shape.Type == "error" || shape.Error.Type != "":
		fault.Message, fault.broken = said, true
	case shape.Type != "message" || shape.Content == nil || shape.Stop == "":
		fault.Message, fault.broken = "the answer is no whole message: "+said, true
	default:
		return nil
	}
	return fault
}
