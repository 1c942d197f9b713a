package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/judge"
)

func injectFlag() cli.Flag {
	return stringFlag("inject", "have the model of the built-in compactors fail on purpose, `KIND@N`: error, timeout, garbage or empty, at the N-th call of each episode")
}

// prepareArms makes the arms, with the failure that is to be injected, and completes the
// lineage with what they are asked by.
func (n *night) prepareArms(roles []role) error {
	text := n.cli.String("inject")
	if text != "" {
		injection, err := compact.ParseInjection(text)
		if err != nil {
			return usageError("--inject: %w", err)
		}
		n.injection = &injection
		n.lineage.Injected = injection.String()
	}
	if n.endpoint.Responses {
		n.lineage.AgentAPI, n.lineage.InsidePrompt = apiResponses, judge.InsidePromptSHA256()
		n.lineage.AgentSent = n.endpoint.ResponsesSent(n.settings.Model)
	}
	if err := n.addArms(roles); err != nil {
		return err
	}
	if n.injection == nil {
		return nil
	}
	var unreached []string
	for _, r := range roles {
		if !slices.Contains(n.injected, r.compactor) {
			unreached = append(unreached, r.compactor)
		}
	}
	if len(n.injected) == 0 {
		return usageError("--inject reaches the model of %s and %s alone, and neither is played: %s", compact.NameSummarize, compact.NameLedger, strings.Join(unreached, ", "))
	}
	for _, name := range unreached {
		fmt.Fprintf(report.Printable(n.cli.App.ErrWriter), "--inject does not reach inside %s: it asks no model, or one of its own\n", name)
	}
	return nil
}

// builtIn makes the built-in compactor use, which the user knows by a name, with the
// failure that is to be injected.
func (n *night) builtIn(name, use string, options compact.Options) (replay.Compactor, error) {
	if !isBuiltIn(use) && len(n.config.Compactors) > 0 {
		return nil, n.noCompactor(use)
	}
	if n.injection == nil || !compact.NeedsModel(use) {
		return compact.New(use, options)
	}
	n.injected = append(n.injected, name)
	return compact.NewInjected(use, options, *n.injection)
}

// noCompactor says that no compactor is called so, the config's neither.
func (n *night) noCompactor(name string) error {
	own := slices.Sorted(maps.Keys(n.config.Compactors))
	hint := "."
	if near := nearest(name, append(slices.Clone(own), compact.Names()...)); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return usageError("no compactor is called %q%s There are %s in the config, and built in %s", name, hint, strings.Join(own, ", "), strings.Join(compact.Names(), ", "))
}
