package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// maxEmbedTexts is how many texts one request carries; OpenAI takes 2048.
const maxEmbedTexts = 256

// Embed asks the endpoint for the embeddings of texts, one vector a text, in order, and
// again where the provider was busy or broken. Empty texts are refused by most
// providers.
func (c *Client) Embed(ctx context.Context, name string, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		batch := texts[:min(len(texts), maxEmbedTexts)]
		texts = texts[len(batch):]
		waits := c.waits()
		got, err := backoff.Retry(ctx, func() ([][]float32, error) {
			got, err := c.embedOnce(ctx, name, batch)
			if err == nil {
				return got, nil
			}
			waits.asked = 0
			var provider *ProviderError
			if errors.As(err, &provider) {
				waits.asked = min(provider.RetryAfter, c.endpoint.MaxWait)
			}
			if ctx.Err() != nil || !temporary(err) {
				err = backoff.Permanent(err)
			}
			return nil, err
		}, backoff.WithBackOff(waits), backoff.WithMaxTries(c.endpoint.Tries), backoff.WithMaxElapsedTime(0))
		if err != nil {
			return nil, fmt.Errorf("asking model %s for embeddings: %w", name, err)
		}
		vectors = append(vectors, got...)
	}
	return vectors, nil
}

func (c *Client) embedOnce(ctx context.Context, name string, texts []string) ([][]float32, error) {
	late := errUnanswered{fmt.Errorf("no answer within %s", c.endpoint.Timeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, c.endpoint.Timeout, late)
	defer cancel()
	body, err := json.Marshal(map[string]any{"model": name, "input": texts})
	if err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	address := strings.TrimSuffix(c.endpoint.BaseURL, "/") + "/embeddings"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.endpoint.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.endpoint.Key)
	}
	response, err := c.wire.client.Do(request)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, errUnanswered{fmt.Errorf("reaching the provider: %w", err)}
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, c.wire.limit+1))
	if err != nil {
		return nil, &ProviderError{Status: response.StatusCode, Message: "the answer broke off: " + err.Error(), broken: true}
	}
	if int64(len(answer)) > c.wire.limit {
		return nil, &ProviderError{Status: response.StatusCode, Message: fmt.Sprintf("the answer is larger than %d bytes", c.wire.limit)}
	}
	return c.vectors(response, answer, len(texts))
}

// vectors reads an answer, which may list the vectors in any order.
func (c *Client) vectors(response *http.Response, answer []byte, want int) ([][]float32, error) {
	var shape struct {
		Error json.RawMessage `json:"error"`
		Data  []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	fault := &ProviderError{Status: response.StatusCode, RetryAfter: retryAfter(response.Header, time.Now())}
	err := json.Unmarshal(answer, &shape)
	switch {
	case response.StatusCode != http.StatusOK:
		fault.Message = c.wire.errorText(shape.Error, answer)
		return nil, fault
	case err != nil:
		fault.Message, fault.broken = "the answer is no list of embeddings: "+c.wire.excerpt(answer), true
		return nil, fault
	}
	vectors := make([][]float32, want)
	for _, d := range shape.Data {
		if d.Index >= 0 && d.Index < want {
			vectors[d.Index] = d.Embedding
		}
	}
	for i, v := range vectors {
		if len(v) == 0 {
			fault.Message, fault.broken = fmt.Sprintf("the answer has no embedding of text %d of %d", i+1, want), true
			return nil, fault
		}
	}
	return vectors, nil
}
