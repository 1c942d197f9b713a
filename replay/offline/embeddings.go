package offline

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"

	"github.com/zeebo/xxh3"
)

// The sizes of embeddings.
const (
	embeddingSize = 32   // without "dimensions"
	maxEmbedding  = 4096 // the most "dimensions" may ask for
	maxInputs     = 2048 // texts in one request
)

// embeddingRequest is the body of POST /v1/embeddings.
type embeddingRequest struct {
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"`
	EncodingFormat string          `json:"encoding_format"`
	Dimensions     *int            `json:"dimensions"`
}

type embedding struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // numbers, or base64 of them
}

type embeddingUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

type embeddingReply struct {
	Object string         `json:"object"`
	Data   []embedding    `json:"data"`
	Model  string         `json:"model"`
	Usage  embeddingUsage `json:"usage"`
}

// embed answers an embeddings request.
func embed(body []byte) (*embeddingReply, *apiError) {
	var req embeddingRequest
	if err := decodeJSON(body, &req); err != nil {
		return nil, err
	}
	if req.Model == "" {
		return nil, invalid("model", "", "you must provide a model parameter")
	}
	inputs, err := embeddingInputs(req.Input)
	if err != nil {
		return nil, err
	}
	size := embeddingSize
	if req.Dimensions != nil {
		if size = *req.Dimensions; size < 1 || size > maxEmbedding {
			return nil, invalid("dimensions", "integer_out_of_range", "Invalid 'dimensions': want 1 to %d, have %d.", maxEmbedding, size)
		}
	}
	reply := &embeddingReply{Object: "list", Model: req.Model, Data: make([]embedding, len(inputs))}
	for i, text := range inputs {
		vector := embedText(text, size)
		e := embedding{Object: "embedding", Index: i}
		switch req.EncodingFormat {
		case "", "float":
			e.Embedding = vector
		case "base64":
			e.Embedding = encodeVector(vector)
		default:
			return nil, invalid("encoding_format", "invalid_value", "Invalid value: '%s'. Supported values are: 'float' and 'base64'.", req.EncodingFormat)
		}
		reply.Data[i] = e
		reply.Usage.PromptTokens += CountTokens(text)
	}
	reply.Usage.TotalTokens = reply.Usage.PromptTokens
	return reply, nil
}

// embeddingInputs reads a text, a list of texts, a list of tokens or a list of
// lists of tokens.
func embeddingInputs(raw json.RawMessage) ([]string, *apiError) {
	wrong := invalid("input", "invalid_type", "'$.input' is invalid: want a string, a list of strings, or tokens. Please check the API reference: https://platform.openai.com/docs/api-reference.")
	if len(raw) == 0 || string(raw) == "null" {
		return nil, invalid("input", "missing_required_parameter", "Missing required parameter: 'input'.")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return checkInputs([]string{text})
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, wrong
	}
	if len(list) == 0 {
		return nil, invalid("input", "empty_array", "Invalid 'input': empty array.")
	}
	if tokens, ok := tokenText(raw); ok {
		return checkInputs([]string{tokens})
	}
	inputs := make([]string, len(list))
	for i, item := range list {
		if tokens, ok := tokenText(item); ok {
			inputs[i] = tokens
		} else if json.Unmarshal(item, &inputs[i]) != nil {
			return nil, wrong
		}
	}
	return checkInputs(inputs)
}

func checkInputs(inputs []string) ([]string, *apiError) {
	if len(inputs) > maxInputs {
		return nil, invalid("input", "array_above_max_length", "Invalid 'input': want at most %d texts, have %d.", maxInputs, len(inputs))
	}
	for i, text := range inputs {
		if text == "" {
			return nil, invalid("input", "invalid_value", "'$.input' is invalid: text %d is empty.", i)
		}
	}
	return inputs, nil
}

// tokenText writes a list of token numbers as words.
func tokenText(raw json.RawMessage) (string, bool) {
	var tokens []int64
	if json.Unmarshal(raw, &tokens) != nil || len(tokens) == 0 {
		return "", false
	}
	var text []byte
	for _, token := range tokens {
		text = append(strconv.AppendInt(text, token, 10), ' ')
	}
	return string(text), true
}

// embedText hashes the folded words of a text into a vector of length 1. A text
// without words gets the first unit vector, so that every answer has a direction.
func embedText(text string, size int) []float32 {
	sums := make([]float64, size)
	for _, t := range lex([]string{text}).tokens {
		hash := xxh3.HashString(t.fold)
		weight := 1.0
		if t.mark&markFiller != 0 {
			weight = 0.25
		}
		if hash&(1<<63) != 0 {
			weight = -weight
		}
		sums[hash%uint64(size)] += weight
	}
	norm := 0.0
	for _, x := range sums {
		norm += x * x
	}
	vector := make([]float32, size)
	if norm == 0 {
		vector[0] = 1
		return vector
	}
	norm = math.Sqrt(norm)
	for i, x := range sums {
		vector[i] = float32(x / norm)
	}
	return vector
}

// encodeVector is base64 of the little-endian float32s.
func encodeVector(vector []float32) string {
	data := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
