package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/replay/offline"
)

func providerCommand() *cli.Command {
	return &cli.Command{
		Name:  "provider",
		Usage: "serve the embedded offline provider to other clients",
		Description: `Speaks the OpenAI chat-completions protocol (plain and streamed, tools, embeddings,
model list). Every answer is a pure function of the request and of the scripts that the
set ships (that of --set, else the config's, else the program's own). Prints the base URL on stdout and serves until interrupted.

With --flip the agent is nondeterministic on purpose, to try out how a run copes with
that: with that probability an answer of the agent is not the one that its context calls
for. A judge, a grader and a summariser always give the due answer.

   doubletake provider --addr 127.0.0.1:8080
   doubletake provider --flip 0.02 --seed 1`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "addr", Usage: "listen on `HOST:PORT`; port 0 takes a free one", Value: "127.0.0.1:0", EnvVars: twin("addr")},
			&cli.Float64Flag{Name: "flip", Usage: "answer otherwise than due with probability `P`, 0 to 1", EnvVars: twin("flip")},
			&cli.Int64Flag{Name: "seed", Usage: "the seed `N` of what --flip draws", Value: 1, EnvVars: twin("seed")},
			configFlag(), setFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			rate := c.Float64("flip")
			if !(rate >= 0 && rate <= 1) {
				return usageError("--flip: %v; want a probability, 0 to 1", rate)
			}
			dir, err := setFolder(c)
			if err != nil {
				return err
			}
			files, _, err := setFiles(dir)
			if err != nil {
				return err
			}
			library, err := offline.LoadLibrary(files)
			if err != nil {
				return fmt.Errorf("starting the offline provider: %w", err)
			}
			handler, err := offline.NewFlippingHandler(library, offline.Flip{Rate: rate, Seed: uint64(c.Int64("seed"))})
			if err != nil {
				return err
			}
			server, err := offline.Listen(c.Context, c.String("addr"), handler)
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, server.URL())
			<-c.Context.Done()
			return server.Close()
		},
	}
}
