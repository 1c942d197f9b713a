package main

import (
	"embed"
	"fmt"

	"github.com/urfave/cli/v2"
)

// completionScripts are the scripts that shells read, one a shell.
//
//go:embed completion/doubletake.bash completion/doubletake.zsh completion/doubletake.fish
var completionScripts embed.FS

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:  "completion",
		Usage: "print the script with which a shell completes commands and flags",
		Description: `For this shell alone:

   source <(doubletake completion bash)
   source <(doubletake completion zsh)
   doubletake completion fish | source

For every shell from now on:

   doubletake completion bash > ~/.local/share/bash-completion/completions/doubletake
   doubletake completion zsh > "${fpath[1]}/_doubletake"
   doubletake completion fish > ~/.config/fish/completions/doubletake.fish`,
		HideHelpCommand: true, // help is no shell
		Subcommands:     []*cli.Command{completionOf("bash"), completionOf("zsh"), completionOf("fish")},
	}
}

// completionOf is the command that prints one shell's script.
func completionOf(shell string) *cli.Command {
	return &cli.Command{
		Name:  shell,
		Usage: "print the script for " + shell,
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("completion %s takes no arguments, have %q (doubletake completion --help)", shell, c.Args().First())
			}
			script, err := completionScripts.ReadFile("completion/doubletake." + shell)
			if err != nil {
				return fmt.Errorf("reading the completion for %s: %w", shell, err)
			}
			if _, err := c.App.Writer.Write(script); err != nil {
				return fmt.Errorf("printing the completion for %s: %w", shell, err)
			}
			return nil
		},
	}
}
