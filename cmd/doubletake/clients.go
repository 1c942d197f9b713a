package main

import (
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// modelClient is a model with the name under which its answers are stored.
type modelClient interface {
	replay.Model
	Identity() string
}

// newModelClient makes the client that speaks the endpoint's API.
func newModelClient(at model.Endpoint) (modelClient, error) {
	if at.Anthropic != nil {
		return model.NewAnthropic(at, *at.Anthropic)
	}
	if at.Responses {
		return model.NewResponses(at)
	}
	return model.NewClient(at)
}
