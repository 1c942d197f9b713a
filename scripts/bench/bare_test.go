package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// TestMain is the bare loop where the test program is started as it. The loop lives among
// the tests because the client library is the model client's alone in what is shipped.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == asBare {
		if err := askBare(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bare:", err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// askBare asks recorded requests in a loop over the client library and nothing else: what
// any program that asks them has to take.
func askBare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bare", flag.ContinueOnError)
	url := flags.String("url", "", "the endpoint")
	from := flags.String("requests", "", "the requests, one a line")
	concurrency := flags.Int("concurrency", 32, "requests at once")
	if err := flags.Parse(args); err != nil {
		return err
	}
	file, err := os.Open(*from)
	if err != nil {
		return err
	}
	defer file.Close()
	config := openai.DefaultConfig("none")
	config.BaseURL = *url
	config.HTTPClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *concurrency, MaxConnsPerHost: *concurrency}}
	client := openai.NewClientWithConfig(config)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(*concurrency)
	lines := fixtures.NewLineReader(file)
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return group.Wait()
		}
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		var request openai.ChatCompletionRequest
		if err := json.Unmarshal(line, &request); err != nil {
			return errors.Join(fmt.Errorf("reading the request in line %d of %s: %w", lines.Line(), *from, err), group.Wait())
		}
		group.Go(func() error {
			_, err := client.CreateChatCompletion(inner, request)
			return err
		})
	}
}
