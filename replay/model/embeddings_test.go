package model

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestEmbeddings(t *testing.T) {
	p := serve(t, answers(
		answer(503, `{"error":{"message":"busy"}}`),
		answer(200, `{"data":[{"index":1,"embedding":[0,1]},{"index":0,"embedding":[0.5,-1]}]}`),
	))
	client, _ := connect(t, Endpoint{BaseURL: p.URL + "/v1/", Key: testKey})
	got, err := client.Embed(t.Context(), "embedder", []string{"a", "b"})
	if want := [][]float32{{0.5, -1}, {0, 1}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("vectors %v, %v, want %v", got, err, want)
	}
	if p.asked() != 2 || p.paths[1] != "/v1/embeddings" || string(p.bodies[1]["input"]) != `["a","b"]` || string(p.bodies[1]["model"]) != `"embedder"` {
		t.Errorf("asked %d times, %v, %s", p.asked(), p.paths, p.bodies)
	}
	if p.headers[1].Get("Authorization") != "Bearer "+testKey {
		t.Error("the key is not sent")
	}
	if got, err := client.Embed(t.Context(), "embedder", nil); err != nil || len(got) != 0 || p.asked() != 2 {
		t.Errorf("of nothing: %v, %v, asked %d times", got, err, p.asked())
	}
}

func TestManyEmbeddings(t *testing.T) {
	p := serve(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		var list []string
		for i := range maxEmbedTexts {
			list = append(list, fmt.Sprintf(`{"index":%d,"embedding":[%d]}`, i, n))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(list, ","))
	})
	client, _ := connect(t, Endpoint{BaseURL: p.URL + "/v1"})
	got, err := client.Embed(t.Context(), "m", make([]string, maxEmbedTexts+1))
	if err != nil || len(got) != maxEmbedTexts+1 || got[0][0] != 1 || got[maxEmbedTexts][0] != 2 {
		t.Errorf("%d vectors, %v", len(got), err)
	}
	if p.headers[0].Get("Authorization") != "" {
		t.Error("an empty key is sent")
	}
}

func TestFaultsOfEmbeddings(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   string
		tries  int
		want   string
	}{
		{"refused", 401, `{"error":{"message":"no such key ` + testKey + `"}}`, 1, "no such key [key]"},
		{"no JSON", 200, "<html>", 3, "no list of embeddings"},
		{"too few", 200, `{"data":[{"index":0,"embedding":[1]}]}`, 3, "no embedding of text 2 of 2"},
		{"an index that is none", 200, `{"data":[{"index":-1,"embedding":[1]},{"index":7,"embedding":[1]}]}`, 3, "no embedding of text 1"},
		{"empty vectors", 200, `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, 3, "no embedding"},
		{"base64", 200, `{"data":[{"index":0,"embedding":"AAAA"}]}`, 3, "no list of embeddings"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := serve(t, answers(answer(tt.status, tt.body)))
			client, _ := connect(t, Endpoint{BaseURL: p.URL + "/v1", Key: testKey, Tries: 3})
			_, err := client.Embed(t.Context(), "m", []string{"a", "b"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), testKey) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if p.asked() != tt.tries {
				t.Errorf("asked %d times, want %d", p.asked(), tt.tries)
			}
		})
	}
}
