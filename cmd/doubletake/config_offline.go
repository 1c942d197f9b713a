package main

import (
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
)

// offlineName says whether a model's name may stand on what the embedded provider answers.
// It answers to every name, and a report must not say that a real model was asked.
func offlineName(name string) bool {
	return name == replay.CoverageJudge || strings.HasPrefix(name, offlinePrefix)
}

// offlinePrefix is what the names of the embedded provider's models begin with.
const offlinePrefix = "offline-"

// offlineInstead is what to do about a real model's name where nobody would ask it.
const offlineInstead = "the embedded provider would answer in its name: name agent.model (--model), too, with its base_url or provider, or leave the name out"

// offlineNames refuses a real model's name for the judge, or for the user, where the
// embedded provider answers for them.
func (n *night) offlineNames() error {
	switch c := n.config; {
	case !offlineName(n.judgeAs) && n.cli.String("judge-model") != "":
		return usageError("--judge-model: %s, and no agent's model; %s", n.judgeAs, offlineInstead)
	case !offlineName(n.judgeAs):
		return c.wrongSince(about(usageError("judge.model: %s, and no agent's model; %s", n.judgeAs, offlineInstead), "judge", "model"))
	case c.User.Model != "" && !offlineName(c.User.Model):
		return c.wrongSince(about(usageError("user.model: %s, and no agent's model; %s", c.User.Model, offlineInstead), "user", "model"))
	}
	return nil
}
