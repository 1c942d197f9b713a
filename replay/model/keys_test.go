package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// Neither the key nor the conversation goes to where a provider sends on to.
func TestRedirectsAreRefused(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		streams(t, fmt.Sprint(status), func(t *testing.T, stream bool) {
			var elsewhere atomic.Int64
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
			defer other.Close()
			p := serve(t, func(w http.ResponseWriter, r *http.Request, _ int) {
				http.Redirect(w, r, other.URL+"/v1/chat/completions?k="+url.QueryEscape(testKey), status)
			})
			client, _ := connect(t, Endpoint{BaseURL: p.URL, Key: testKey, Stream: stream})
			_, err := client.Complete(t.Context(), ask("m"))
			if err == nil || !strings.Contains(err.Error(), "it sends to "+other.URL) || strings.Contains(err.Error(), "k=") {
				t.Errorf("error %v", err)
			}
			if _, err := client.Embed(t.Context(), "m", []string{"a"}); err == nil {
				t.Error("embeddings are fetched elsewhere")
			}
			if elsewhere.Load() != 0 || p.asked() != 2 {
				t.Errorf("asked %d times, and %d times elsewhere", p.asked(), elsewhere.Load())
			}
		})
	}
}

// However a provider spells the key, it stands in no reply, no raw bytes and no error.
func TestAKeyInAnySpellingStaysOut(t *testing.T) {
	const key = "sk-a/b+c=secret&d"
	escaped := strings.ReplaceAll(key, "/", `\/`)
	asCharacters := strings.ReplaceAll(key, "/", `\u002f`)
	for name, spelling := range map[string]string{
		"plain": key, "escaped": escaped, "as characters": asCharacters, "for a query": url.QueryEscape(key), "for a path": url.PathEscape(key), "in small letters": lowerHex(url.QueryEscape(key)),
	} {
		streams(t, name, func(t *testing.T, stream bool) {
			body := fmt.Sprintf(`{"model":"%[1]s","system_fingerprint":"%[1]s","choices":[{"finish_reason":"stop","message":{"content":"%[1]s","reasoning_content":"%[1]s","tool_calls":[{"id":"%[1]s","function":{"name":"%[1]s","arguments":"%[1]s"}}]}}]}`, spelling)
			p := serve(t, answers(answer(200, body), answer(400, fmt.Sprintf(`{"error":{"message":"%s"}}`, spelling))))
			client, _ := connect(t, Endpoint{BaseURL: p.URL, Key: key, Stream: stream})
			reply, err := client.Complete(t.Context(), ask("m"))
			if err != nil {
				t.Fatal(err)
			}
			raw := reply.Raw
			text := fmt.Sprintf("%+v %s %s", reply, raw.Request, raw.Response)
			var decoded any
			if err := json.Unmarshal(raw.Response, &decoded); err != nil {
				t.Error(err)
			}
			_, err = client.Complete(t.Context(), ask("m"))
			text += fmt.Sprint(err)
			for _, form := range []string{key, escaped, asCharacters, url.QueryEscape(key)} {
				if strings.Contains(text, form) {
					t.Errorf("%s stands in %s", form, text)
				}
			}
			if !strings.Contains(reply.Message.Content, "[key]") {
				t.Errorf("content %s", reply.Message.Content)
			}
		})
	}
}
