package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// configVersion is the newest version of the config's form that this program reads.
const configVersion = 1

// validateForm says what is wrong with the version of the config, and with what takes one
// of a few names and is looked at late.
func (c *config) validateForm() error {
	if c.Version < 0 || c.Version > configVersion {
		return wrong([]string{"version"}, "%d; this program reads version 1 to %d", c.Version, configVersion)
	}
	if c.Cache.Mode != "" {
		if _, err := model.ParseCacheMode(c.Cache.Mode); err != nil {
			return wrong([]string{"cache", "mode"}, "%w", noneOf(c.Cache.Mode, cacheModes()...))
		}
	}
	return nil
}

// validateAddresses says which of the models' addresses is none.
func (c *config) validateAddresses() error {
	for _, named := range []struct{ section, url string }{{"agent", c.Agent.BaseURL}, {"judge", c.Judge.BaseURL}, {"user", c.User.BaseURL}} {
		if named.url == "" {
			continue
		}
		if err := model.CheckBaseURL(named.url); err != nil {
			return wrong([]string{named.section, "base_url"}, "%w", err)
		}
	}
	return nil
}

// cacheModes lists the names of the modes of the cache.
func cacheModes() []string {
	return []string{string(model.CacheOff), string(model.CacheRead), string(model.CacheWrite), string(model.CacheOnly)}
}

// validateAnalysis says what is wrong with what the verdict is found by. Each key is tried
// by itself, so that the error is about that one.
func (c *config) validateAnalysis() error {
	for _, name := range slices.Sorted(maps.Keys(c.Gates)) {
		if err := validateGate(name, c.Gates[name]); err != nil {
			if slices.Contains(analysis.GateNames(), name) {
				return about(fmt.Errorf("gates.%w", err), "gates", name)
			}
			return aboutName(fmt.Errorf("gates: %w", err), "gates", name)
		}
	}
	for _, one := range []struct {
		section, key string
		config       config
	}{
		{"judge", "min_accuracy", config{Judge: judgeConfig{MinAccuracy: c.Judge.MinAccuracy}}},
		{"test", "alpha", config{Test: testConfig{Alpha: c.Test.Alpha}}},
		{"test", "margin", config{Test: testConfig{Margin: c.Test.Margin}}},
		{"test", "confidence", config{Test: testConfig{Confidence: c.Test.Confidence}}},
		{"test", "power", config{Test: testConfig{Power: c.Test.Power}}},
		{"test", "max_unscored", config{Test: testConfig{MaxUnscored: c.Test.MaxUnscored}}},
		{"test", "noise_budget", config{Test: testConfig{NoiseBudget: c.Test.NoiseBudget}}},
		{"test", "slice_rate", config{Test: testConfig{SliceRate: c.Test.SliceRate}}},
		{"test", "look_every", config{Test: testConfig{LookEvery: c.Test.LookEvery}}},
	} {
		if err := one.config.analysis().Validate(); err != nil {
			return about(fmt.Errorf("%s.%w", one.section, err), one.section, one.key)
		}
	}
	if stop := c.Nightly.Stop; stop != "" {
		if _, err := analysis.ParseStop(stop); err != nil {
			return wrong([]string{"nightly", "stop"}, "%w", noneOf(stop, string(analysis.StopEarly), string(analysis.StopNever)))
		}
	}
	return c.analysis().Validate()
}

// validateGate says what is wrong with a floor or a limit, beginning with its name.
func validateGate(name string, value float64) error {
	settings := analysis.DefaultSettings()
	err := settings.SetGate(name, value)
	if err == nil {
		return settings.Validate()
	}
	if names := analysis.GateNames(); !slices.Contains(names, name) {
		if near := nearest(name, names); near != "" {
			return fmt.Errorf("%w; did you mean %q?", err, near)
		}
	}
	return err
}
