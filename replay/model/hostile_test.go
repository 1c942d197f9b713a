package model

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAnEchoedKeyStaysOut: a provider that repeats the key in its answer.
func TestAnEchoedKeyStaysOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		fmt.Fprintf(w, `{"model":%[1]q,"system_fingerprint":%[1]q,"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%[1]q}}],"usage":{"prompt_tokens":-100,"completion_tokens":9223372036854775807}}`, key)
	}))
	defer server.Close()
	client, err := NewClient(Endpoint{BaseURL: server.URL + "/v1", Key: "sk-secret-123"})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := client.Complete(t.Context(), ask("m"))
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(*reply); strings.Contains(text, "sk-secret") || !strings.Contains(text, "[key]") {
		t.Errorf("reply %s", text)
	}
	if reply.Usage.PromptTokens != 0 || reply.Usage.CompletionTokens != 0 {
		t.Errorf("usage %+v, want nothing of what cannot be", reply.Usage)
	}
}

func TestBaseURL(t *testing.T) {
	for url, good := range map[string]bool{
		"http://127.0.0.1:8080/v1": true, "https://api.example.com/v1": true,
		"::::": false, "/v1": false, "ftp://x/v1": false, "http://user:pass@host/v1": false, "https://host/v1?api_key=x": false, "": false,
	} {
		_, err := NewClient(Endpoint{BaseURL: url})
		if (err == nil) != good {
			t.Errorf("%q: error %v", url, err)
		}
		if err != nil && (strings.Contains(err.Error(), "pass") || strings.Contains(err.Error(), "api_key=x")) {
			t.Errorf("the error for %q repeats a secret: %v", url, err)
		}
	}
}
