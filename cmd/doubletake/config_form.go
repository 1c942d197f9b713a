package main

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/replay/model"
)

// configVersion is the newest version of the config's form that this program reads.
const configVersion = 1

// validateForm says what is wrong with the version of the config, and with what takes one
// of a few names and is looked at late.
func (c *config) validateForm() error {
	if c.Version < 0 || c.Version > configVersion {
		return fmt.Errorf("version: %d; this program reads version 1 to %d", c.Version, configVersion)
	}
	if c.Cache.Mode != "" {
		if _, err := model.ParseCacheMode(c.Cache.Mode); err != nil {
			return fmt.Errorf("cache.mode: %w", err)
		}
	}
	return nil
}
