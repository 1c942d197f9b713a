package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/fixtures"
)

// twin is the environment variable of a flag.
func twin(name string) []string {
	return []string{"DOUBLETAKE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}
}

func stringFlag(name, usage string, aliases ...string) *cli.StringFlag {
	return &cli.StringFlag{Name: name, Usage: usage, Aliases: aliases, EnvVars: twin(name)}
}

// listFlag is a flag that may be given several times. The library would add what the
// command line says to what the environment says; here one goes over the other, so that
// list reads the environment itself.
func listFlag(name, usage string, aliases ...string) *cli.StringSliceFlag {
	return &cli.StringSliceFlag{Name: name, Usage: usage + " [$" + twin(name)[0] + ", with commas between]", Aliases: aliases}
}

// list is what a listFlag has.
func list(c *cli.Context, name string) []string {
	values := c.StringSlice(name)
	if len(values) == 0 {
		values = strings.Split(os.Getenv(twin(name)[0]), ",")
	}
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return strings.TrimSpace(v) == "" })
}

func configFlag() cli.Flag {
	return stringFlag("config", "read the config `FILE`; default: ./"+configFile+" if there is one", "c")
}

func setFlag() cli.Flag {
	return stringFlag("set", "the set of fixtures, a `DIR`; default: the config's, else the one that ships with the program")
}

// setFolder is the folder of the set that a command is about: that of --set, else the
// config's; empty for the set that ships with the program.
func setFolder(c *cli.Context) (string, error) {
	if dir := c.String("set"); dir != "" {
		return dir, nil
	}
	cfg, err := loadConfig(c.String("config"))
	if err != nil {
		return "", err
	}
	return cfg.setFolder()
}

// noArguments refuses arguments where a command that is about a set takes none: who writes
// the set's folder there means another set than the command would take.
func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		path := strings.TrimPrefix(c.Command.HelpName, "doubletake ")
		return usageError("%s takes no arguments, have %q; a set is named with --set DIR (doubletake %[1]s --help)", path, c.Args().First())
	}
	return nil
}

// setOf loads the set that a command is about.
func setOf(c *cli.Context) (*fixtures.Set, error) {
	dir, err := setFolder(c)
	if err != nil {
		return nil, err
	}
	return loadSet(dir)
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON on stdout", EnvVars: twin("json")}
}

// concurrencyFlag is how much is done at once; 0 would not say what it does, here as in the
// config.
func concurrencyFlag(usage, standard string) cli.Flag {
	return &cli.IntFlag{
		Name: "concurrency", Aliases: []string{"j"}, Usage: usage, DefaultText: standard, EnvVars: twin("concurrency"),
		Action: func(_ *cli.Context, n int) error {
			if n < 1 {
				return usageError("--concurrency %d: want at least 1; leave it out for the default", n)
			}
			return nil
		},
	}
}

// baseURLFlag is where the models of a night are asked.
func baseURLFlag() cli.Flag {
	return stringFlag("base-url", "the OpenAI-compatible endpoint, a `URL` that ends in /v1; default: with a model named OPENAI_BASE_URL, else OpenAI's; without one the embedded offline provider")
}

// nightFlags are the flags of the commands that play.
func nightFlags() []cli.Flag {
	return append(clusterFlags(),
		configFlag(),
		setFlag(),
		stringFlag("out", "the run directory, a `DIR`; the same command goes on with what lies there; default: runs/<time>-<id>"),
		outputFlag(),
		baseURLFlag(),
		stringFlag("model", "the agent's model, by `NAME`"),
		stringFlag("judge-model", "the judge's model, by `NAME`; default: the agent's"),
		concurrencyFlag("play `N` episodes at once", "8"),
		stringFlag("cache", "answers: off, read, write or only (never ask the provider); `MODE`, default write"),
		stringFlag("cache-dir", "where answers are stored, a `DIR`; default: the user's cache folder"),
		&cli.IntFlag{Name: "seed", Usage: "the seed `N` that goes with every request", DefaultText: "7", EnvVars: twin("seed")},
		listFlag("fixture", "play only the fixture `ID` (repeatable)"),
		stringFlag("stop", "early: stop once harm is certain at the level of the test; never (the default): play everything; `WHEN`"),
		&cli.IntFlag{Name: "replicates", Usage: "play each episode `N` times; the test takes the means", DefaultText: "1", EnvVars: twin("replicates")},
		modeFlag(),
		shardFlag(),
		injectFlag(),
		rubricFlag(),
		allowExecFlag(),
		dryRunFlag(),
		jsonFlag(),
		&cli.BoolFlag{Name: "strict", Usage: "exit with 4 where the result is inconclusive", EnvVars: twin("strict")},
	)
}

// valueFlags are the flags that take a value, for taking flags apart from arguments.
func valueFlags(flags []cli.Flag) map[string]bool {
	takes := map[string]bool{}
	for _, f := range flags {
		if _, isBool := f.(*cli.BoolFlag); isBool {
			continue
		}
		for _, name := range f.Names() {
			takes[name] = true
		}
	}
	return takes
}

// interspersed lets flags stand after arguments, as people write them: the library
// stops at the first argument. It runs the action with the arguments alone in order.
func interspersed(command *cli.Command) {
	action := command.Action
	takes := valueFlags(command.Flags)
	command.Action = func(c *cli.Context) error {
		args := c.Args().Slice()
		if behindDashes(c) || !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") && a != "-" }) {
			return action(c)
		}
		var flags, rest []string
		for i := 0; i < len(args); i++ {
			arg := args[i]
			switch {
			case arg == "--":
				rest = append(rest, args[i+1:]...)
				i = len(args)
			case !strings.HasPrefix(arg, "-") || arg == "-":
				rest = append(rest, arg)
			default:
				flags = append(flags, arg)
				name := strings.TrimLeft(arg, "-")
				if takes[name] && i+1 < len(args) {
					i++
					flags = append(flags, args[i])
				}
			}
		}
		if len(flags) == 0 {
			return action(c)
		}
		given := explicitFlags(c, command.Flags)
		again := *command
		again.Action = action
		return again.Run(c, append(append(append([]string{command.Name}, given...), flags...), append([]string{"--"}, rest...)...)...)
	}
}

// behindDashes says whether two dashes ended the flags before the first argument, so that
// all that follow are arguments. The library takes the dashes away; the program's own
// arguments, whose end these are, still have them.
func behindDashes(c *cli.Context) bool {
	all, _ := c.App.Metadata[argumentsKey].([]string)
	at := len(all) - c.NArg() - 1
	return at >= 0 && all[at] == "--" && slices.Equal(all[at+1:], c.Args().Slice())
}

// explicitFlags writes the flags that stood before the arguments again.
func explicitFlags(c *cli.Context, flags []cli.Flag) []string {
	var out []string
	given := c.LocalFlagNames() // those of the command line, not of the environment
	for _, f := range flags {
		name := f.Names()[0]
		if !slices.ContainsFunc(f.Names(), func(name string) bool { return slices.Contains(given, name) }) {
			continue
		}
		switch f.(type) {
		case *cli.BoolFlag:
			out = append(out, fmt.Sprintf("--%s=%t", name, c.Bool(name)))
		case *cli.StringSliceFlag:
			for _, v := range c.StringSlice(name) {
				out = append(out, "--"+name, v)
			}
		default:
			out = append(out, "--"+name, fmt.Sprint(c.Value(name)))
		}
	}
	return out
}

// terminalStyle is how text is printed on the program's stdout.
func terminalStyle(c *cli.Context) report.Style {
	file, ok := c.App.Writer.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return report.Style{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		width = 0
	}
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("CI") != "" || os.Getenv("TERM") == "dumb"
	return report.Style{Color: !plain, Width: width}
}
