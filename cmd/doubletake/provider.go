package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

func providerCommand() *cli.Command {
	return &cli.Command{
		Name:  "provider",
		Usage: "serve the embedded offline provider to other clients",
		Description: `Speaks the OpenAI chat-completions protocol (plain and streamed, tools, embeddings,
model list). Every answer is a pure function of the request and of the scripts that the
set ships. Prints the base URL on stdout and serves until interrupted.

   doubletake provider --addr 127.0.0.1:8080`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "addr", Usage: "listen on `HOST:PORT`; port 0 takes a free one", Value: "127.0.0.1:0", EnvVars: twin("addr")},
			setFlag(),
		},
		Action: func(c *cli.Context) error {
			files, _, err := setFiles(c.String("set"))
			if err != nil {
				return err
			}
			server, _, err := startOffline(c.Context, files, c.String("addr"))
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, server.URL())
			<-c.Context.Done()
			return server.Close()
		},
	}
}
