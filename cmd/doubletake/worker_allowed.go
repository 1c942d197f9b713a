package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/replay/compact"
)

// askedAddress is an address that a run asks.
type askedAddress struct {
	url string // without what may be secret
	// anthropic says that its API is Anthropic's, whose address is given with /v1 or without.
	anthropic bool
}

// within says whether the address is the one that an endpoint allows.
func (a askedAddress) within(endpoint string) bool {
	plain := func(url string) string {
		url = strings.TrimRight(url, "/")
		if a.anthropic {
			url = strings.TrimSuffix(url, "/v1")
		}
		return url
	}
	return plain(endpoint) == plain(a.url)
}

// addresses are the addresses that the night asks, those included that nobody has named.
// It is to be called once the models are there.
func (n *night) addresses() []askedAddress {
	var list []askedAddress
	if !n.offline {
		list = append(list, askedAddress{n.endpoint.BaseURL, n.endpoint.Anthropic != nil})
	}
	if at := n.config.User.BaseURL; at != "" {
		list = append(list, askedAddress{at, n.endpoint.Anthropic != nil})
	}
	for _, r := range n.roles {
		c, named := n.config.Compactors[r.compactor]
		switch {
		case !named && compact.IsAddress(r.compactor):
			list = append(list, askedAddress{url: withoutQuery(r.compactor)})
		case c.HTTP != "":
			list = append(list, askedAddress{url: withoutQuery(c.HTTP)})
		case c.Preset != "":
			list = append(list, askedAddress{n.presetAt(c), c.Preset == compact.PresetAnthropic})
		}
	}
	return list
}

// withoutQuery is an address without its query, which may hold a key.
func withoutQuery(address string) string {
	plain, _, _ := strings.Cut(address, "#")
	plain, _, _ = strings.Cut(plain, "?")
	return plain
}

// runsCommand says whether one of the night's compactors is a command.
func (n *night) runsCommand() bool {
	return slices.ContainsFunc(n.roles, func(r role) bool {
		if c, named := n.config.Compactors[r.compactor]; named {
			return len(c.Exec) > 0
		}
		return !compact.IsAddress(r.compactor) && isCommand(r.compactor)
	})
}

// mayRun says whether this worker may run what a run wants to be run.
func (w *fleetWorker) mayRun(n *night) error {
	if n.runsCommand() && !w.cli.Bool("allow-exec") {
		return errors.New("a compactor of the run is a command; start the worker with --allow-exec if it may run what the leader names")
	}
	return nil
}

// mayAsk says whether this worker may ask what a run wants to be asked.
func (w *fleetWorker) mayAsk(n *night) error {
	endpoints := list(w.cli, "endpoint")
	for _, asked := range n.addresses() {
		if !slices.ContainsFunc(endpoints, asked.within) {
			return fmt.Errorf("the run asks %s; start the worker with --endpoint %s if it may", asked.url, asked.url)
		}
	}
	return nil
}
