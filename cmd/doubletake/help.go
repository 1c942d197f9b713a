package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// helpArguments rewrites arguments that ask for help, with --help or -h at any place or
// with the word help before a command, to the command's names and --help: the library
// would take an argument before it for the name of a help topic. All others are returned
// as they are.
func helpArguments(app *cli.App, args []string) ([]string, error) {
	if len(args) == 0 || slices.Contains(args, "--generate-bash-completion") {
		return args, nil
	}
	path, commands, takes := []string{args[0]}, app.Commands, valueFlags(app.Flags)
	asked, topic := false, false
	runs := false      // the command does something by itself, beside its subcommands
	unknown := ""      // the first word where a command was due
	arguments := false // what follows are arguments
	for i := 1; i < len(args) && args[i] != "--"; i++ {
		arg := args[i]
		if strings.HasPrefix(arg, "-") && arg != "-" {
			name := strings.TrimLeft(arg, "-")
			asked = asked || name == "help" || name == "h"
			if takes[name] {
				i++
			}
			continue
		}
		if arguments || len(commands) == 0 {
			continue
		}
		if arg == "help" || arg == "h" {
			topic = true
			continue
		}
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(arg) })
		if at < 0 {
			unknown, arguments = arg, true
			continue
		}
		command := commands[at]
		path, commands, takes, runs = append(path, command.Name), command.Subcommands, valueFlags(command.Flags), command.ArgsUsage != ""
	}
	if !asked && !topic {
		return args, nil
	}
	if unknown != "" && (topic || !runs) {
		return nil, unknownCommand(commands, strings.Join(append([]string{app.Name}, path[1:]...), " "), unknown)
	}
	return append(path, "--help"), nil
}
