package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// asking completes the endpoints with how their models are to be asked.
func (n *night) asking(agent, judge *model.Endpoint) {
	cfg := n.config
	for _, set := range []struct {
		at     *model.Endpoint
		name   string
		stream bool
		quirks *model.Quirks
	}{{agent, n.settings.Model, cfg.Agent.Stream, cfg.Agent.Quirks}, {judge, n.judgeAs, cfg.Judge.Stream, cfg.Judge.Quirks}} {
		set.at.Idle, set.at.Stream = time.Duration(cfg.Limits.IdleTimeout), set.stream
		if set.quirks != nil {
			set.at.Quirks = map[string]model.Quirks{set.name: *set.quirks}
		}
	}
}

// validateAsking says what is wrong with how models are to be asked.
func (c *config) validateAsking() error {
	for _, asked := range []struct {
		section string
		quirks  *model.Quirks
	}{{"agent", c.Agent.Quirks}, {"judge", c.Judge.Quirks}} {
		if asked.quirks == nil {
			continue
		}
		if err := asked.quirks.Validate(); err != nil {
			quirk, _, _ := strings.Cut(err.Error(), ":")
			return about(fmt.Errorf("%s.quirks.%w", asked.section, err), asked.section, "quirks", quirk)
		}
	}
	for _, other := range []struct {
		section, by string
		is, stream  bool
	}{
		{"agent", "provider: " + providerAnthropic, c.Agent.Provider == providerAnthropic && (c.Agent.Stream || beyondTemperature(c.Agent.Quirks)), c.Agent.Stream},
		{"judge", "provider: " + providerAnthropic, c.judgeProvider() == providerAnthropic && (c.Judge.Stream || beyondTemperature(c.Judge.Quirks)), c.Judge.Stream},
		{"agent", "api: " + apiResponses, c.Agent.API == apiResponses && (c.Agent.Stream || c.Agent.Quirks != nil), c.Agent.Stream},
	} {
		if other.is {
			key := "quirks"
			if other.stream {
				key = "stream"
			}
			return about(fmt.Errorf("%s.%s: stream and quirks go with Chat Completions alone, but for quirks.temperature with %s", other.section, other.by, providerAnthropic), other.section, key)
		}
	}
	return nil
}

// limiters are the limits of a night, one for each endpoint: models behind one share its
// limits.
func (n *night) limiters() func(model.Endpoint) *model.Limiter {
	byHost := map[string]*model.Limiter{}
	limits := n.config.Limits
	return func(at model.Endpoint) *model.Limiter {
		host := at.BaseURL
		if address, err := url.Parse(at.BaseURL); err == nil {
			host = address.Host
		}
		if byHost[host] == nil {
			limiter := model.NewLimiter(int(limits.RequestsPerMinute), int(limits.TokensPerMinute))
			limiter.LimitInFlight(int(limits.RequestsInFlight))
			if n.cluster != nil {
				limiter.ShareRates(n.cluster.Limit(host, int(limits.RequestsPerMinute), int(limits.TokensPerMinute)))
			}
			byHost[host] = limiter
			n.close = append(n.close, func() error {
				if slowed := limiter.Slowed(); slowed > 0 {
					fmt.Fprintf(report.Printable(n.cli.App.ErrWriter), "%s asked to slow down %s\n", host, report.Plural(slowed, "time"))
				}
				return nil
			})
		}
		return byHost[host]
	}
}

// sayLearnt has the night's end say what models refused, and were not sent any more.
func (n *night) sayLearnt(client modelClient) {
	learner, ok := client.(interface{ Learnt() []string })
	if !ok {
		return
	}
	n.close = append(n.close, func() error {
		for _, learnt := range learner.Learnt() {
			fmt.Fprintf(report.Printable(n.cli.App.ErrWriter), "%s: it was left out or sent by another name from then on; quirks in the config say so from the start\n", learnt)
		}
		return nil
	})
}
