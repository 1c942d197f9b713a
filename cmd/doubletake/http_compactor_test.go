package main

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// TestHTTPCompactorsKeyStaysOut plays a night through a compactor that answers by HTTP
// and repeats the key that it was given wherever it can: neither the run directory nor
// what was printed may hold it.
func TestHTTPCompactorsKeyStaysOut(t *testing.T) {
	const key, query = "sk-hidden-hidden", "query-hidden"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "Bearer "+key || r.URL.Query().Get("key") != query {
			t.Errorf("asked with %v at %v", r.Header, r.URL)
		}
		w.Header().Set("X-Echo", key)
		if r.URL.Path == "/breaks" {
			http.Error(w, "no such key: "+key+", "+query, http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"status":"compacted","messages":[{"role":"user","content":"I was asked with `+key+` and `+query+`."}],"compactor":{"name":"`+key+`"}}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	config := "compactors:\n"
	for _, name := range []string{"works", "breaks"} {
		config += "  " + name + ": { http: \"" + server.URL + "/" + name + "?key=" + query + "\", headers_env: { Authorization: MY_KEY } }\n"
	}
	path := filepath.Join(dir, "doubletake.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "run")
	cmd := doubletake(t, "compare", "works", "breaks", "-c", path, "--fixture", "forbidden-directory", "--out", out)
	cmd.Env = append(cmd.Environ(), "MY_KEY=Bearer "+key)
	printed, _ := cmd.CombinedOutput() // the exit code says which arm is worse, and is not asked here
	files := map[string][]byte{"what was printed": printed}
	unpack, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unpack.Close()
	contexts := 0
	err = fs.WalkDir(os.DirFS(out), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(out, name))
		if plain, packed := unpack.DecodeAll(data, nil); packed == nil {
			data, contexts = plain, contexts+1
		}
		files[name] = data
		return err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if contexts == 0 {
		t.Error("no context was kept")
	}
	if !bytes.Contains(files["episodes.jsonl"], []byte("answered with status 401 Unauthorized: no such key: [secret], [secret]")) {
		t.Errorf("the failure is not in the journal:\n%s\n%s", files["episodes.jsonl"], printed)
	}
	for name, data := range files {
		for _, secret := range []string{key, query} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
	}
}
