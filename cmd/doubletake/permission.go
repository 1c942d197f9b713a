package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/replay/tools"
	"github.com/doubletake-dev/doubletake/replay/tools/server"
)

// toolsConfig says what fixtures may do to have tool calls answered.
type toolsConfig struct {
	// Exec lets them run the programs and ask the servers that they name.
	Exec bool `yaml:"exec"`
}

func allowExecFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-exec", Usage: "run the programs and ask the servers that fixtures name for their tools", EnvVars: twin("allow-exec")}
}

// permit refuses fixtures that would run something, unless the user lets them: a set may
// come from anywhere.
func (n *night) permit() error {
	if n.cli.Bool("allow-exec") || n.config.Tools.Exec {
		return nil
	}
	var refused []string
	for _, f := range n.fixtures {
		for _, c := range f.Commands() {
			refused = append(refused, fmt.Sprintf("%s: %q", f.ConversationID, c))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return usageError("fixtures name programs or servers for their tools (%s); read what they do, then allow them with --allow-exec or tools: {exec: true} in the config, or take them out", strings.Join(refused, ", "))
}

// tools makes the tools of the night's episodes.
func (n *night) tools() *tools.Maker {
	return &tools.Maker{Files: n.set.Files(), Connect: server.Connect}
}
