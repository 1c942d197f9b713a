package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
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
		got, err := retried(ctx, c.retrying(), func(ctx context.Context) ([][]float32, error) { return c.embedOnce(ctx, name, batch) })
		if err != nil {
			return nil, fmt.Errorf("asking model %s for embeddings: %w", name, err)
		}
		vectors = append(vectors, got...)
	}
	return vectors, nil
}

func (c *Client) embedOnce(ctx context.Context, name string, texts []string) ([][]float32, error) {
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	body, err := json.Marshal(map[string]any{"model": name, "input": texts})
	if err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	address := trimSlash(c.endpoint.BaseURL) + "/embeddings"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("composing the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.endpoint.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.endpoint.Key)
	}
	response, answer, err := c.wire.send(request, new(exchange))
	if err != nil {
		return nil, c.failed(ctx, err)
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
	err := json.Unmarshal(answer, &shape)
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, c.wire.fault(response, shape.Error, answer)
	case err != nil:
		return nil, c.wire.broken(response, "the answer is no list of embeddings: "+c.wire.excerpt(answer))
	case len(shape.Error) > 0 && string(shape.Error) != "null":
		return nil, c.wire.fault(response, shape.Error, answer)
	}
	vectors := make([][]float32, want)
	for _, d := range shape.Data {
		if d.Index >= 0 && d.Index < want {
			vectors[d.Index] = d.Embedding
		}
	}
	for i, v := range vectors {
		if len(v) == 0 {
			return nil, c.wire.broken(response, fmt.Sprintf("the answer has no embedding of text %d of %d", i+1, want))
		}
	}
	return vectors, nil
}
