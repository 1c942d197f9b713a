package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/doubletake-dev/doubletake/replay/offline"
)

// mockStats is what a mock server saw since it was last asked.
type mockStats struct {
	Requests int `json:"requests"`
	// Peak is how many requests were in flight at once.
	Peak int `json:"peak"`
	// AnswerSeconds is the sum of the times that answers were made to take, and Longest
	// the longest of them.
	AnswerSeconds float64 `json:"answer_seconds"`
	Longest       float64 `json:"longest"`
}

// mock is a model server that answers after a set time. It is safe for concurrent use.
type mock struct {
	next    http.Handler // gives the answer
	latency time.Duration
	// uneven draws the time of an answer from a log-normal distribution with the mean
	// latency. The draw depends on the request alone, so that every program that asks the
	// same waits the same.
	uneven bool
	record io.Writer // gets the requests, one a line; nil for nobody

	mu     sync.Mutex
	flying int
	stats  mockStats
}

// spread is the standard deviation of the logarithm of uneven answer times: the 95th
// percentile is about four times the median, as hosted models have it.
const spread = 0.85

func (m *mock) takes(body []byte) time.Duration {
	if !m.uneven {
		return m.latency
	}
	random := rand.New(rand.NewPCG(xxh3.Hash(body), 0))
	factor := math.Exp(spread*random.NormFloat64() - spread*spread/2) // of mean 1
	return time.Duration(float64(m.latency) * min(factor, 8))
}

func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/stats" {
		m.mu.Lock()
		stats := m.stats
		if r.URL.RawQuery != "keep" {
			m.stats = mockStats{}
		}
		m.mu.Unlock()
		_ = json.NewEncoder(w).Encode(stats) // a client that went away is not our error
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wait := m.takes(body)
	m.mu.Lock()
	m.flying++
	m.stats.Requests++
	m.stats.Peak = max(m.stats.Peak, m.flying)
	m.stats.AnswerSeconds += wait.Seconds()
	m.stats.Longest = max(m.stats.Longest, wait.Seconds())
	if m.record != nil {
		_, _ = m.record.Write(append(body, '\n')) // what is missing shows in the count of requests
	}
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.flying--
		m.mu.Unlock()
	}()
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return
		}
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	m.next.ServeHTTP(w, r)
}

// sayOK answers every request with the same text.
func sayOK(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"id":"mock","object":"chat.completion","created":1700000000,"model":"mock-model","choices":[{"index":0,"message":{"role":"assistant","content":"ok, it is done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":4,"total_tokens":104}}`)
}

// serveMock is the mock server's own process.
func serveMock(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("mock", flag.ContinueOnError)
	latency := flags.Duration("latency", 0, "time of an answer, or the mean time")
	uneven := flags.Bool("uneven", false, "answers take different times")
	embedded := flags.Bool("offline", false, "answer as the embedded provider does")
	record := flags.String("record", "", "write the requests to this file, one a line")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m := &mock{next: http.HandlerFunc(sayOK), latency: *latency, uneven: *uneven}
	if *embedded {
		library, err := offline.NewLibrary(nil, nil)
		if err != nil {
			return err
		}
		m.next = offline.NewHandler(library)
	}
	if *record != "" {
		file, err := os.Create(*record)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		m.record = file
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "http://"+listener.Addr().String())
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// mockProcess is a mock server in a process of its own, so that its time and memory are
// not those of what is measured.
type mockProcess struct {
	address string
	cmd     *exec.Cmd
}

// startMock starts a mock server with the flags of [serveMock].
func startMock(ctx context.Context, args ...string) (*mockProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"mock"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the mock server: %w", err)
	}
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the mock server: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	return &mockProcess{address, cmd}, nil
}

func (p *mockProcess) url() string { return p.address + "/v1" }

// stats returns what the server saw since this was last asked.
func (p *mockProcess) stats() (mockStats, error) { return p.ask("/stats") }

// until waits until the server has seen so many requests, and returns how many it had.
func (p *mockProcess) until(ctx context.Context, requests int) (int, error) {
	for {
		seen, err := p.ask("/stats?keep")
		if err != nil || seen.Requests >= requests {
			return seen.Requests, err
		}
		select {
		case <-ctx.Done():
			return seen.Requests, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (p *mockProcess) ask(path string) (stats mockStats, err error) {
	response, err := http.Get(p.address + path)
	if err != nil {
		return stats, fmt.Errorf("asking the mock server what it saw: %w", err)
	}
	defer response.Body.Close()
	return stats, json.NewDecoder(response.Body).Decode(&stats)
}

// close ends the server.
func (p *mockProcess) close() error {
	err := p.cmd.Process.Signal(os.Interrupt)
	_ = p.cmd.Wait() // it was told to end
	return err
}
