package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

type answering func(*replay.Request) (*replay.Reply, error)

func (a answering) Complete(_ context.Context, r *replay.Request) (*replay.Reply, error) { return a(r) }

// records are the records of a JSON log.
func records(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var list []map[string]any
	for line := range strings.Lines(log.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		list = append(list, record)
	}
	return list
}

func TestLogged(t *testing.T) {
	latency := 12.5
	answer := answering(func(*replay.Request) (*replay.Reply, error) {
		return &replay.Reply{Message: fixtures.Message{Content: "a secret answer"}, Key: "k", Stored: true, LatencyMS: &latency, Usage: replay.Usage{PromptTokens: 3}}, nil
	})
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		var log bytes.Buffer
		m := &Logged{Model: answer, Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level})), Purpose: "judge"}
		request := &replay.Request{Model: "m", Messages: []fixtures.Message{{Role: "user", Content: "a secret question"}}}
		if _, err := m.Complete(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "secret") {
			t.Errorf("%s: contents are logged: %s", level, log.String())
		}
		found := false
		for _, r := range records(t, &log) {
			if r["msg"] != "model answered" {
				continue
			}
			found = true
			if r["purpose"] != "judge" || r["model"] != "m" || r["key"] != "k" || r["cached"] != true || r["latency_ms"] != 12.5 || r["prompt_tokens"] != 3.0 {
				t.Errorf("%s: %v", level, r)
			}
		}
		if !found || (level == slog.LevelDebug) != strings.Contains(log.String(), "content_hash") {
			t.Errorf("%s: %s", level, log.String())
		}
	}
}

func TestLoggedFault(t *testing.T) {
	var log bytes.Buffer
	fault := fmt.Errorf("asking: %w", &ProviderError{Status: 429, Message: "you said: a secret", RetryAfter: time.Second})
	m := &Logged{Model: answering(func(*replay.Request) (*replay.Reply, error) { return nil, fault }), Log: slog.New(slog.NewJSONHandler(&log, nil)), Purpose: "agent"}
	if _, err := m.Complete(t.Context(), &replay.Request{Model: "m"}); !errors.Is(err, fault) {
		t.Fatalf("the fault came back as %v", err)
	}
	list := records(t, &log)
	if len(list) != 1 || list[0]["status"] != 429.0 || list[0]["level"] != "WARN" || strings.Contains(log.String(), "secret") {
		t.Errorf("log %s", log.String())
	}
}

func TestFurtherTriesAreLogged(t *testing.T) {
	var log bytes.Buffer
	endpoint := Endpoint{Tries: 3, MaxWait: time.Hour, Identity: "here", Log: slog.New(slog.NewJSONHandler(&log, nil))}
	tries := 0
	_, err := retried(t.Context(), endpoint.retrying(func(time.Duration) time.Duration { return 0 }), func(context.Context) (int, error) {
		tries++
		if tries < 3 {
			return 0, &ProviderError{Status: 503, Message: "a secret"}
		}
		return tries, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	list := records(t, &log)
	if len(list) != 2 || list[0]["try"] != 2.0 || list[1]["try"] != 3.0 || list[0]["of"] != 3.0 || list[0]["status"] != 503.0 || list[0]["endpoint"] != "here" {
		t.Errorf("log %s", log.String())
	}
}
