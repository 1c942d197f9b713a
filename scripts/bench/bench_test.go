package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// served is a mock server in this process.
func served(t testing.TB) (*mock, string) {
	t.Helper()
	m := &mock{next: http.HandlerFunc(sayOK)}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, server.URL + "/v1"
}

func made(t testing.TB, spec setSpec) string {
	t.Helper()
	dir := t.TempDir()
	if err := makeSet(dir, spec); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMadeSetsAreSets(t *testing.T) {
	for _, spec := range []setSpec{{fixtures: 3, exchanges: 1, bytes: 100}, {fixtures: 2, exchanges: 40, bytes: 20_000, seed: 5}} {
		dir := made(t, spec)
		set, err := fixtures.LoadSet(os.DirFS(dir), "made")
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Fixtures) != spec.fixtures {
			t.Errorf("%d fixtures, want %d", len(set.Fixtures), spec.fixtures)
		}
		for _, f := range set.Fixtures {
			info, err := os.Stat(filepath.Join(dir, f.RecordingPath(os.DirFS(dir))))
			if err != nil {
				t.Fatal(err)
			}
			if size := int(info.Size()); size < spec.bytes || size > 2*spec.bytes+spec.exchanges*300+300 {
				t.Errorf("a transcript of about %d bytes takes %d", spec.bytes, size)
			}
		}
	}
}

func TestTheEngineAsksTwiceAFixture(t *testing.T) {
	m, url := served(t)
	var requests bytes.Buffer
	m.record = &requests
	dir := made(t, setSpec{fixtures: 5, exchanges: 4, bytes: 800})
	if err := playEngine(t.Context(), []string{"--url", url, "--set", dir}); err != nil {
		t.Fatal(err)
	}
	if m.stats.Requests != 10 {
		t.Fatalf("%d requests, want 10", m.stats.Requests)
	}
	file := filepath.Join(t.TempDir(), "requests.jsonl")
	if err := os.WriteFile(file, requests.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	m.record = nil
	if err := askBare(t.Context(), []string{"--url", url, "--requests", file}); err != nil {
		t.Fatal(err)
	}
	if m.stats.Requests != 20 {
		t.Errorf("the bare loop asked %d requests, want 10", m.stats.Requests-10)
	}
}

func TestUnevenAnswersDependOnTheRequest(t *testing.T) {
	m := &mock{latency: time.Second, uneven: true}
	sum := 0.0
	const n = 4000
	for i := range n {
		body := []byte(strings.Repeat("x", i))
		took := m.takes(body)
		if took != m.takes(body) || took <= 0 || took > 8*time.Second {
			t.Fatalf("request %d takes %s and %s", i, took, m.takes(body))
		}
		sum += took.Seconds()
	}
	// The standard deviation of the mean is 1.03/sqrt(4000), the bound six of them.
	if mean := sum / n; mean < 0.9 || mean > 1.1 {
		t.Errorf("answers of a second on average take %.3f s", mean)
	}
}

func TestMedian(t *testing.T) {
	of := func(u usage) float64 { return u.wall }
	for want, list := range map[float64][]usage{2: {{wall: 3}, {wall: 1}, {wall: 2}}, 2.5: {{wall: 4}, {wall: 2}, {wall: 1}, {wall: 3}}, 7: {{wall: 7}}} {
		if have := median(list, of); have != want {
			t.Errorf("the median of %v is %v, want %v", list, have, want)
		}
	}
}

func TestUnknownTablesAreRefused(t *testing.T) {
	err := run(context.Background(), []string{"overheads"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "makespan") {
		t.Errorf("error %v", err)
	}
}

// BenchmarkEngine is the engine's part of a model call, with what the mock server takes in
// the same process. Set it beside BenchmarkBare.
func BenchmarkEngine(b *testing.B) {
	const fixtures = 100
	_, url := served(b)
	dir := made(b, setSpec{fixtures: fixtures, exchanges: 4, bytes: 800})
	for b.Loop() {
		if err := playEngine(b.Context(), []string{"--url", url, "--set", dir}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(2*fixtures), "us/call")
}

// BenchmarkBare asks what BenchmarkEngine asks, in a loop over the client library.
func BenchmarkBare(b *testing.B) {
	const fixtures = 100
	m, url := served(b)
	var requests bytes.Buffer
	m.record = &requests
	dir := made(b, setSpec{fixtures: fixtures, exchanges: 4, bytes: 800})
	if err := playEngine(b.Context(), []string{"--url", url, "--set", dir}); err != nil {
		b.Fatal(err)
	}
	m.record = nil
	file := filepath.Join(b.TempDir(), "requests.jsonl")
	if err := os.WriteFile(file, requests.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := askBare(b.Context(), []string{"--url", url, "--requests", file}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(2*fixtures), "us/call")
}
