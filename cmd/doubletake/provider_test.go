package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestProviderFlips starts the provider as its users do and asks its agent the same thing
// many times: with --flip the answers differ, and in the same way for the same seed.
func TestProviderFlips(t *testing.T) {
	const times = 40
	course := func(args ...string) []string {
		cmd := doubletake(t, append([]string{"provider"}, args...)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait()
		}()
		url, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatalf("no address: %v", err)
		}
		var answers []string
		for range times {
			resp, err := http.Post(strings.TrimSpace(url)+"/chat/completions", "application/json",
				strings.NewReader(`{"model":"m","messages":[{"role":"system","content":"Never push to main."},{"role":"user","content":"Go on."}]}`))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("status %d, %v: %s", resp.StatusCode, err, body)
			}
			answers = append(answers, string(body))
		}
		return answers
	}
	distinct := func(answers []string) int {
		seen := map[string]bool{}
		for _, a := range answers {
			seen[a] = true
		}
		return len(seen)
	}
	due, zero := course(), course("--flip", "0", "--seed", "5")
	if fmt.Sprint(due) != fmt.Sprint(zero) || distinct(due) != 1 {
		t.Errorf("without flips there are %d answers, with --flip 0 %d", distinct(due), distinct(zero))
	}
	flipped := course("--flip", "0.5", "--seed", "5")
	if distinct(flipped) < 2 {
		t.Error("with --flip 0.5 there is one answer only")
	}
	if fmt.Sprint(flipped) != fmt.Sprint(course("--flip", "0.5", "--seed", "5")) {
		t.Error("one seed gave two courses")
	}
	if fmt.Sprint(flipped) == fmt.Sprint(course("--flip", "0.5", "--seed", "6")) {
		t.Error("two seeds gave one course")
	}
}
