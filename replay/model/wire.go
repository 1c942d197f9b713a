package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBody bounds how much of an answer is read.
const maxBody = 64 << 20

// wire carries requests for the library and mends what it cannot say: a
// temperature of zero and an empty content are dropped by its JSON tags. It also
// reads answers whole, so that whatever is no chat completion becomes a
// [*ProviderError] with status and an excerpt instead of a bare syntax error.
type wire struct {
	client *http.Client
	key    string
	limit  int64 // of an answer's size
}

// Do sends one request.
func (w *wire) Do(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	if body, err = mendRequest(body); err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	if w.key == "" {
		request.Header.Del("Authorization")
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, errUnanswered{fmt.Errorf("reaching the provider: %w", err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, w.limit+1))
	if err != nil {
		return nil, &ProviderError{Status: response.StatusCode, Message: "the answer broke off: " + err.Error(), broken: true}
	}
	if int64(len(answer)) > w.limit {
		return nil, &ProviderError{Status: response.StatusCode, Message: fmt.Sprintf("the answer is larger than %d bytes", w.limit)}
	}
	if w.key != "" {
		// A provider that repeats the key must not bring it into the run's files.
		answer = bytes.ReplaceAll(answer, []byte(w.key), []byte("[key]"))
	}
	if fault := w.fault(response, answer); fault != nil {
		return nil, fault
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	return response, nil
}

// fault says what is wrong with an answer, or returns nil for a chat completion.
func (w *wire) fault(response *http.Response, answer []byte) error {
	fault := &ProviderError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header, time.Now())}
	var shape struct {
		Error   json.RawMessage   `json:"error"`
		Choices []json.RawMessage `json:"choices"`
	}
	err := json.Unmarshal(answer, &shape)
	switch {
	case response.StatusCode != http.StatusOK:
		fault.Message = w.errorText(shape.Error, answer)
	case err != nil:
		fault.Message, fault.broken = "the answer is no JSON: "+w.excerpt(answer), true
	case len(shape.Error) > 0 && string(shape.Error) != "null":
		fault.Message, fault.broken = w.errorText(shape.Error, answer), true
	case len(shape.Choices) == 0:
		fault.Message, fault.broken = "the answer has no choices: "+w.excerpt(answer), true
	default:
		return nil
	}
	return fault
}

// scrub takes the key out of a text, as it is and as JSON may spell it. It comes
// before anything is cut, so that no half of a key stays.
func (w *wire) scrub(text string) string {
	if w.key == "" {
		return text
	}
	return strings.NewReplacer(w.key, "[key]", strings.ReplaceAll(w.key, "/", `\/`), "[key]").Replace(text)
}

// mendRequest puts a true zero temperature into a chat request, and the empty
// content that protocol-strict servers want on tool results.
func mendRequest(body []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	if _, chat := fields["messages"]; !chat {
		return body, nil
	}
	fields["temperature"] = json.RawMessage("0")
	var messages []json.RawMessage
	if err := json.Unmarshal(fields["messages"], &messages); err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	mended := false
	for i, raw := range messages {
		if bytes.Contains(raw, []byte(`"content":`)) {
			continue
		}
		messages[i] = append([]byte(`{"content":"",`), bytes.TrimPrefix(raw, []byte("{"))...)
		mended = true
	}
	if mended {
		list, err := json.Marshal(messages)
		if err != nil {
			return nil, fmt.Errorf("composing the request: %w", err)
		}
		fields["messages"] = list
	}
	return json.Marshal(fields)
}

// ProviderError is what a provider answered instead of a completion.
type ProviderError struct {
	Status  int
	Message string
	// RetryAfter is how long the provider asks to wait, 0 where it does not say.
	RetryAfter time.Duration
	// broken marks an answer that is no answer, which another try may mend.
	broken bool
}

func (e *ProviderError) Error() string {
	return fmt.Sprintf("the provider answered %d %s: %s", e.Status, http.StatusText(e.Status), e.Message)
}

// Temporary says whether another try may help.
func (e *ProviderError) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return e.broken || e.Status >= 500
}

func (w *wire) errorText(raw json.RawMessage, answer []byte) string {
	var text string
	var shape struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(raw, &text) == nil && text != "":
		return cut(w.scrub(text), 1000)
	case json.Unmarshal(raw, &shape) == nil && shape.Message != "":
		return cut(w.scrub(shape.Message), 1000)
	}
	return w.excerpt(answer)
}

// excerpt is the beginning of a body, made fit for one line.
func (w *wire) excerpt(body []byte) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return "(an empty body)"
	}
	return strconv.Quote(cut(w.scrub(string(body)), 200))
}

// cut shortens a text and leaves no broken character in it.
func cut(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}

// retryAfter reads the Retry-After header, in seconds or as a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		const day = 24 * 60 * 60 // nobody waits longer, and a duration cannot hold everything
		if seconds > 0 {         // which not-a-number isn't
			return time.Duration(min(seconds, day) * float64(time.Second))
		}
		return 0
	}
	if date, err := http.ParseTime(value); err == nil && date.After(now) {
		return date.Sub(now)
	}
	return 0
}
