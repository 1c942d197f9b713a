package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/outcomes"
	"github.com/doubletake-dev/doubletake/analysis/plot"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/fixtures/recording"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/pairing/labelling"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/mutant"
)

// completeValues has a shell complete what a flag or an argument of a command takes, where
// that is one of a few words, and flags and subcommands as the library does. The scripts put
// a lone dash last where they ask for flags.
func completeValues(command *cli.Command, path string) cli.BashCompleteFunc {
	otherwise := cli.DefaultCompleteWithFlags(command)
	takes := valueFlags(command.Flags)
	return func(c *cli.Context) {
		words, _ := c.App.Metadata[argumentsKey].([]string)
		words = words[:max(0, len(words)-1)] // the flag by which the library knows that a shell asks
		last := ""
		if len(words) > 0 {
			last = words[len(words)-1]
		}
		flag := strings.TrimLeft(last, "-")
		switch {
		case strings.HasPrefix(last, "-") && takes[flag]:
			for _, value := range flagValues(path, longName(command.Flags, flag), c) {
				fmt.Fprintln(c.App.Writer, value)
			}
		case last == "-" || strings.HasPrefix(last, "-") && !isFlag(command.Flags, flag):
			otherwise(c)
		default:
			for _, value := range argumentValues(path, c) {
				fmt.Fprintln(c.App.Writer, value)
			}
			for _, sub := range command.Subcommands {
				if !sub.Hidden {
					fmt.Fprintln(c.App.Writer, sub.Name)
				}
			}
		}
	}
}

func isFlag(flags []cli.Flag, name string) bool { return longName(flags, name) != "" }

// longName is the first name of the flag that has a name; empty where none has.
func longName(flags []cli.Flag, name string) string {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f.Names()[0]
		}
	}
	return ""
}

// flagValues are what a flag of a command takes; none where it takes anything.
func flagValues(path, flag string, c *cli.Context) []string {
	switch flag {
	case "cache":
		return cacheModes()
	case "mode":
		return modeNames()
	case "stop":
		return []string{string(analysis.StopEarly), string(analysis.StopNever)}
	case "inject":
		var first []string
		for _, kind := range compact.FailureKinds() {
			first = append(first, string(kind)+"@1")
		}
		return first
	case "candidate", "incumbent", "compactor":
		return compactorNames(c)
	case "log-format":
		return []string{logText, logJSON}
	case "log-level":
		return logLevels()
	case "provider":
		return []string{providerOpenAI, providerAnthropic}
	case "theme":
		return texts(plot.Themes())
	case "class":
		return texts(fixtures.Classes())
	case "only":
		return onlyStates()
	case "cell":
		return []string{string(pairing.Loss), string(pairing.Gain)}
	case "severity":
		return texts(pairing.Severities())
	case "stage":
		return texts(labelling.Stages())
	case "pairs":
		return texts([]labelling.Frame{labelling.Discordant, labelling.AllPairs})
	case "kind":
		return texts(append(mutant.Kinds(), mutant.Rewrites()...))
	case "fixtures":
		return draftNames()
	case "format":
		return formatValues(path)
	}
	return nil
}

// formatValues are the formats of a command that has some.
func formatValues(path string) []string {
	switch path {
	case "doubletake report":
		return formatNames()
	case "doubletake test":
		return texts(outcomes.Formats())
	case "doubletake import", "doubletake scan":
		return append([]string{recording.Auto}, recording.FormatNames()...)
	}
	return nil
}

// argumentValues are what the next argument of a command may be; none where it is a file or
// anything.
func argumentValues(path string, c *cli.Context) []string {
	switch path {
	case "doubletake schema":
		var names []string
		for _, kind := range schemaKinds() {
			names = append(names, kind.Name)
		}
		return names
	case "doubletake compare":
		return compactorNames(c)
	case "doubletake review decide":
		if c.NArg() == 2 { // behind the run and the pair
			return append(blindRulings(), string(pairing.CandidateWorse), string(pairing.CandidateBetter), "remembered")
		}
	}
	return nil
}

// compactorNames are the compactors that have a name: the config's and the built-in ones.
func compactorNames(c *cli.Context) []string {
	var names []string
	if cfg, err := loadConfig(c.String("config")); err == nil { // without one there are the others
		for name := range cfg.Compactors {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(names, compact.Names()...)
}

func texts[T ~string](values []T) []string {
	var list []string
	for _, v := range values {
		list = append(list, string(v))
	}
	return list
}
