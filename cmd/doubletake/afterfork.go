package main

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// Who speaks for the user after the fork.
const (
	userRecorded  = "recorded"
	userSimulated = "simulated"
)

// userConfig is who simulates the user.
type userConfig struct {
	Model   string `yaml:"model"`
	BaseURL string `yaml:"base_url"`
}

// validateUser says what is wrong with what the config says of the user and the mode.
func (c *config) validateUser() error {
	mode, err := replay.ParseMode(c.Nightly.Mode)
	if err != nil {
		return wrong([]string{"nightly", "mode"}, "%w", noneOf(c.Nightly.Mode, modeNames()...))
	}
	switch user := c.Nightly.User; {
	case !slices.Contains([]string{"", userRecorded, userSimulated}, user):
		return wrong([]string{"nightly", "user"}, "%w", noneOf(user, userRecorded, userSimulated))
	case user != userSimulated && c.User != (userConfig{}):
		return about(errors.New("user is set, and nobody is simulated: add nightly: {user: simulated}"), "user")
	case user == userSimulated && mode == replay.StepByStep:
		return about(errors.New(simulatedStep), "nightly", "user")
	}
	return nil
}

// modeNames lists the names of the modes.
func modeNames() []string { return []string{replay.ClosedLoop.String(), replay.StepByStep.String()} }

const simulatedStep = "a simulated user goes with the closed loop: in step mode the recorded user speaks; leave out nightly.user, or step"

func modeFlag() cli.Flag {
	return stringFlag("mode", "after the fork: closed (the default), the agent goes on from its own turns; step, it is asked once for each recorded turn, without drift; `MODE`")
}

// afterFork settles how episodes go on after the fork: the mode, and who speaks for the
// user. It is to be called once the models are there.
func (n *night) afterFork() (err error) {
	cfg := n.config
	if n.settings.Mode, err = replay.ParseMode(cmp.Or(n.cli.String("mode"), cfg.Nightly.Mode)); err != nil {
		return usageError("--mode: %w", noneOf(n.cli.String("mode"), modeNames()...))
	}
	if cfg.Nightly.User != userSimulated {
		return nil
	}
	if n.settings.Mode == replay.StepByStep {
		return usageError(simulatedStep)
	}
	asked, endpoint := n.agent, n.lineage.Endpoint
	if url := cfg.User.BaseURL; url != "" {
		if n.offline {
			return cfg.wrongSince(about(usageError("user.base_url is set and no agent's model: name agent.model, too, or leave both to the embedded provider"), "user", "base_url"))
		}
		at := n.endpoint
		at.BaseURL = url
		if asked, err = n.openModel(at); err != nil {
			return err
		}
		endpoint = strings.TrimSuffix(url, "/")
	}
	n.user = &simulatedUser{replay.User{Model: n.asks("user", asked), Name: cmp.Or(cfg.User.Model, n.settings.Model)}, asked}
	n.lineage.UserModel, n.lineage.UserPrompt, n.lineage.UserEndpoint = n.user.Name, replay.UserPromptSHA256(), endpoint
	return nil
}

// simulatedUser is who speaks for the user, with the answers that are stored for it.
type simulatedUser struct {
	replay.User
	asked *model.Cached
}

// simulated is the user of the engine; nil is the recorded one.
func (n *night) simulated() *replay.User {
	if n.user == nil {
		return nil
	}
	return &n.user.User
}
