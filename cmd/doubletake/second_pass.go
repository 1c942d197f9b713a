package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/annotate"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// secondPass is the model's look at what the rules propose, nil where no model is named.
// The embedded provider has nothing to say here: it would only repeat the rules.
func secondPass(c *cli.Context) (annotate.Second, error) {
	name := c.String("model")
	base := cmp.Or(c.String("base-url"), os.Getenv("OPENAI_BASE_URL"))
	switch {
	case name == "" && c.String("base-url") != "":
		return nil, usageError("--base-url goes with --model")
	case name == "":
		return nil, nil
	case base == "":
		return nil, usageError("--model %s: name its endpoint with --base-url or OPENAI_BASE_URL", name)
	}
	client, err := model.NewClient(model.Endpoint{BaseURL: base, Key: os.Getenv("OPENAI_API_KEY")})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, candidates []annotate.Candidate, turn []fixtures.Message) ([]annotate.Candidate, error) {
		system, user := annotate.Request(candidates, turn)
		reply, err := client.Complete(ctx, &replay.Request{
			Model: name, Seed: replay.DefaultSeed, JSON: true,
			Messages: []fixtures.Message{{Role: fixtures.RoleSystem, Content: system}, {Role: fixtures.RoleUser, Content: user}},
		})
		if err != nil {
			return nil, err
		}
		kept, dropped, err := annotate.ParseAnswer(reply.Message.Content, candidates, turn)
		if err != nil {
			// A model that answers badly takes nothing away from the rules.
			fmt.Fprintf(report.Printable(c.App.ErrWriter), "turn %d: %v; the rules' proposals stand\n", turn[0].Turn, err)
			return candidates, nil
		}
		for _, d := range dropped {
			fmt.Fprintf(report.Printable(c.App.ErrWriter), "turn %d: dropped from the model's answer: %q: %s\n", turn[0].Turn, d.Literal, d.Reason)
		}
		return kept, nil
	}, nil
}
