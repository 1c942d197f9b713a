package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of faults that a [ProviderError] is told apart by, with errors.Is.
var (
	// ErrContextLength says that the conversation is longer than the model's window.
	ErrContextLength = errors.New("the conversation is longer than the model's window")
	// ErrContentFilter says that the provider's content filter stopped the answer.
	ErrContentFilter = errors.New("the provider's content filter stopped the answer")
	// ErrParameter says that the model takes no such parameter.
	ErrParameter = errors.New("the model refuses a parameter")
)

// ProviderError is what a provider answered instead of a completion.
type ProviderError struct {
	// Status is that of the answer, or the one that the error inside an answer of 200 names.
	Status  int
	Message string
	// RetryAfter is how long the provider asks to wait, 0 where it does not say.
	RetryAfter time.Duration
	// Kind is [ErrContextLength], [ErrContentFilter] or [ErrParameter], nil for others.
	Kind error
	// Parameter is the one that was refused, where Kind is [ErrParameter].
	Parameter string
	// broken marks an answer that is no answer, which another try may mend.
	broken bool
	// spent says that the account, not the moment, has no room: no waiting helps.
	spent bool
}

func (e *ProviderError) Error() string {
	text := fmt.Sprintf("the provider answered %d %s: %s", e.Status, http.StatusText(e.Status), e.Message)
	if e.Kind == ErrContextLength || e.Kind == ErrContentFilter {
		return e.Kind.Error() + ": " + text
	}
	return text
}

// Unwrap gives the kind.
func (e *ProviderError) Unwrap() error { return e.Kind }

// Temporary says whether another try may help.
func (e *ProviderError) Temporary() bool {
	if e.Kind != nil || e.spent {
		return false
	}
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return e.broken || e.Status >= 500
}

// slowDown says that the provider wants fewer requests.
func (e *ProviderError) slowDown() bool {
	return e.Status == http.StatusTooManyRequests && !e.spent || e.Status == statusOverloaded || e.Status == http.StatusServiceUnavailable && e.RetryAfter > 0
}

// statusOverloaded is what some providers answer where others answer 503.
const statusOverloaded = 529

// errorShape is the error object of an answer, as providers write it.
type errorShape struct {
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    json.RawMessage `json:"code"`
	Param   string          `json:"param"`
}

// code is the error's code as a text, whether it was a text or a number.
func (s *errorShape) code() string { return strings.Trim(string(s.Code), `"`) }

// readError reads the error of an answer: an object, or a bare text, or what else there is.
func readError(raw json.RawMessage) (errorShape, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return errorShape{Message: text}, true
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return errorShape{}, false
	}
	var shape errorShape
	// Field by field, so that one of an unexpected type does not hide the others.
	_ = json.Unmarshal(fields["message"], &shape.Message)
	_ = json.Unmarshal(fields["type"], &shape.Type)
	_ = json.Unmarshal(fields["param"], &shape.Param)
	shape.Code = fields["code"]
	return shape, shape.Message != ""
}

// fault makes the error of an answer that is an error.
func (w *wire) fault(response *http.Response, raw json.RawMessage, answer []byte) *ProviderError {
	e := &ProviderError{Status: response.StatusCode, RetryAfter: askedWait(response.Header, time.Now())}
	shape, said := readError(raw)
	if e.Message = w.excerpt(answer); said {
		e.Message = cut(w.keys.text(shape.Message), 1000)
	}
	e.spent = shape.code() == "insufficient_quota" || shape.Type == "insufficient_quota"
	if response.StatusCode == http.StatusOK {
		e.broken = true
		if status, err := strconv.Atoi(shape.code()); err == nil && status >= 400 && status < 600 {
			e.Status, e.broken = status, false
			e.Message = "inside an answer of 200: " + e.Message
		}
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		e.Message = "it sends elsewhere, where neither the key nor the conversation is sent; set the base URL to the right address"
		if to, err := response.Location(); err == nil {
			e.Message = fmt.Sprintf("it sends to %s, where neither the key nor the conversation is sent; set the base URL to the right address", cut(w.keys.text(to.Scheme+"://"+to.Host), 200))
		}
	}
	e.Parameter, e.Kind = kindOfError(e.Status, &shape, string(answer))
	return e
}

// broken is the fault of an answer that is none.
func (w *wire) broken(response *http.Response, message string) *ProviderError {
	return &ProviderError{Status: response.StatusCode, Message: w.keys.text(message), RetryAfter: askedWait(response.Header, time.Now()), broken: true}
}

// tooLong and filtered are how providers put it, in lower case.
var (
	tooLong = []string{
		"context_length_exceeded", "maximum context length", "context length exceeded", "exceeds the context", "exceed the context", "context window",
		"prompt is too long", "input is too long", "exceeds the available context size", "exceed_context_size", "input token count",
		"reduce the length of the messages", "string_above_max_length",
	}
	filtered = []string{"content_filter", "content filter", "content_policy_violation", "content management policy", "responsibleaipolicyviolation", "data_inspection_failed"}
	refusals = []string{
		"unsupported", "not support", "n't support", "unrecognized", "unknown", "unexpected", "extra input", "extra field",
		"not permitted", "not allowed", "deprecated", "only the default", "not available", "unavailable", "no such parameter",
	}
)

// kindOfError tells the kinds of errors apart by code, parameter and words.
func kindOfError(status int, shape *errorShape, answer string) (parameter string, kind error) {
	if status == http.StatusTooManyRequests || status == http.StatusUnauthorized || status == http.StatusNotFound {
		return "", nil
	}
	all := strings.ToLower(shape.code() + " " + shape.Type + " " + shape.Message)
	if shape.Message == "" {
		all = strings.ToLower(cut(answer, 4000))
	}
	has := func(word string) bool { return strings.Contains(all, word) }
	switch {
	case status < 500 && slices.ContainsFunc(tooLong, has):
		return "", ErrContextLength
	case status < 500 && slices.ContainsFunc(filtered, has):
		return "", ErrContentFilter
	case status != http.StatusBadRequest && status != http.StatusUnprocessableEntity || !slices.ContainsFunc(refusals, has):
		return "", nil
	}
	if name := parameterOf(strings.ToLower(shape.Param), all); name != "" {
		return name, ErrParameter
	}
	return "", nil
}

// parameterOf finds which of the parameters that can be adapted an error is about.
func parameterOf(param, all string) string {
	if strings.HasSuffix(param, ".role") {
		return parameterRole
	}
	for _, name := range adaptable {
		if param == name || strings.HasPrefix(param, name+".") {
			return name
		}
	}
	if param != "" {
		return ""
	}
	found, first := "", len(all) // the one that is named first: others are advice
	for _, name := range adaptable {
		if at := strings.Index(all, name); at >= 0 && at < first && !wordAround(all, at, len(name)) {
			found, first = name, at
		}
	}
	if found != "" {
		return found
	}
	if strings.Contains(all, "role") && (strings.Contains(all, "system") || strings.Contains(all, "developer")) {
		return parameterRole
	}
	return ""
}

// wordAround says that what stands at a place is part of a longer word.
func wordAround(text string, at, size int) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= 'a' && text[i] <= 'z')
	}
	return letter(at-1) || letter(at+size)
}

// excerpt is the beginning of a body, made fit for one line.
func (w *wire) excerpt(body []byte) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return "(an empty body)"
	}
	return strconv.Quote(cut(w.keys.text(string(body)), 200))
}

// cut shortens a text and leaves no broken character in it.
func cut(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit] + "..."
	}
	return strings.ToValidUTF8(text, "?")
}
