package main

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestEveryKeyIsExplained: the page on the config names each key that it may have.
func TestEveryKeyIsExplained(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range knownKeys(reflect.TypeFor[config]()) {
		name, _, _ := strings.Cut(key, ",")
		if name != "" && !strings.Contains(string(page), name) {
			t.Errorf("README.md says nothing of the key %q", name)
		}
	}
}
