package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/model"
)

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "say what would be asked for, in calls, tokens and money, and ask nothing", EnvVars: twin("dry-run")}
}

// nightForecast is what a night will ask of models.
type nightForecast struct {
	Fixtures   int      `json:"fixtures"`
	Arms       []string `json:"arms"`
	Replicates int      `json:"replicates"`
	Episodes   int      `json:"episodes"`
	// LeftOut names the fixtures whose whole conversation doesn't fit the window and
	// that have no accepted trace, Largest the one with the longest prefix.
	LeftOut       []string `json:"left_out"`
	Largest       string   `json:"largest_prefix"`
	LargestTokens int      `json:"largest_prefix_tokens"`
	// Asked is what is asked for, by purpose; Total is all of it.
	Asked []purpose      `json:"asked"`
	Total replay.Outlook `json:"total"`
	// MostIf are the conditions under which no more is asked than said, in words: one for
	// each model whose answers nothing bounds.
	MostIf []string `json:"most_if"`
	// Advice says how to do without them.
	Advice string `json:"most_advice,omitempty"`
	// Cost is null where a price is missing, with the reason beside it.
	Cost       *costRange `json:"cost_usd"`
	CostReason string     `json:"cost_reason,omitempty"`
	Notes      []string   `json:"notes"`
}

// purpose is what one model is asked for one thing.
type purpose struct {
	For   string `json:"for"`
	Model string `json:"model"`
	replay.Outlook
}

// costRange is an amount of US dollars, as expected and at most, under the forecast's conditions.
type costRange struct {
	Expected float64 `json:"expected"`
	Most     float64 `json:"most"`
}

// forecast goes through the night's fixtures and arms. The arms must have been made.
func (n *night) forecast() (*nightForecast, error) {
	engine := &replay.Engine{Settings: n.settings, Counter: n.counter, Recording: n.set.Recording, User: n.simulated()}
	planned, bounds := max(1, n.replicates), n.bounds()
	e := &nightForecast{Fixtures: len(n.fixtures), Replicates: planned, Episodes: len(n.fixtures) * len(n.arms) * planned, LeftOut: []string{}, MostIf: []string{}, Notes: []string{}}
	for _, arm := range n.arms {
		e.Arms = append(e.Arms, arm.Name)
	}
	for _, f := range n.fixtures {
		forecast, err := engine.Forecast(f, bounds)
		if err != nil {
			return nil, fmt.Errorf("looking ahead at %s: %w", f.ConversationID, err)
		}
		if forecast.PrefixTokens > e.LargestTokens {
			e.Largest, e.LargestTokens = f.ConversationID, forecast.PrefixTokens
		}
		if !forecast.Fits && f.Trace == nil {
			e.LeftOut = append(e.LeftOut, f.ConversationID)
		}
		for i := range n.arms {
			n.forecastArm(e, i, forecast, planned, bounds)
		}
	}
	n.forecastControls(e, bounds)
	n.conditions(e, bounds)
	n.notes(e)
	if n.cacheMode() == model.CacheOnly {
		for i := range e.Asked {
			e.Asked[i].Outlook = replay.Outlook{}
		}
	}
	for _, p := range e.Asked {
		e.Total = e.Total.Plus(p.Outlook)
	}
	e.Cost, e.CostReason = n.expense(e.Asked)
	return e, nil
}

// forecastArm adds what one arm of one fixture asks.
func (n *night) forecastArm(e *nightForecast, i int, forecast *replay.Forecast, planned int, bounds replay.Bounds) {
	arm, info := n.arms[i], n.infos[i]
	again := n.further(info.Role, planned)
	plays := func(o replay.Outlook) replay.Outlook {
		return replay.Outlook{Expected: o.Expected.Times(planned), Most: o.Most.Times(planned + again)}
	}
	if arm.Kind != replay.CompactorArm {
		e.add("agent", n.settings.Model, plays(forecast.Whole))
		if forecast.Fits {
			n.forecastUser(e, plays(forecast.User))
		}
		return
	}
	e.add("agent", n.settings.Model, plays(forecast.Compacted))
	n.forecastUser(e, plays(forecast.User))
	if asked := n.compactorModel(info.Compactor); asked != "" {
		e.add("compactor", asked, plays(forecast.Summaries))
	}
	e.add("judge", n.judgeAs, plays(forecast.Judge))
	if n.cli.Bool("rubric") {
		// A compaction has a probe of each kind, answered by the agent and graded by the
		// judge, whose answer is asked for again where it can't be read.
		probes := len(replay.ProbeKinds()) * len(forecast.Points) * planned
		size := forecast.PrefixTokens
		answer, grade := bounds.Agent, bounds.Judge
		if bounds.JudgeAssumed {
			grade = max(grade, 2000)
		}
		e.add("rubric answer", n.settings.Model, replay.Outlook{
			Expected: replay.Demand{Calls: probes, PromptTokens: probes * size / 2, AnswerTokens: probes * min(200, answer)},
			Most:     replay.Demand{Calls: probes, PromptTokens: probes * size, AnswerTokens: probes * answer},
		})
		e.add("rubric grade", n.judgeAs, replay.Outlook{
			Expected: replay.Demand{Calls: probes, PromptTokens: probes * size, AnswerTokens: probes * min(600, grade)},
			Most:     replay.Demand{Calls: 2 * probes, PromptTokens: 4 * probes * size, AnswerTokens: 2 * probes * grade},
		})
	}
}

// forecastUser adds what the simulated user is asked, where there is one.
func (n *night) forecastUser(e *nightForecast, asked replay.Outlook) {
	if n.user != nil {
		e.add("user", n.user.Name, asked)
	}
}

// further is how often an arm is played again at most to confirm what was found.
func (n *night) further(role string, planned int) int {
	switch role {
	case analysis.RoleControl:
		return 0
	case analysis.RoleReference, analysis.RoleCandidate, analysis.RoleA, analysis.RoleB:
		return max(int(n.config.Nightly.Confirm), analysis.CriticalPlays-planned, 0)
	}
	return max(analysis.CriticalPlays-planned, 0)
}

// forecastControls adds the questions that measure the judge: short ones, of each kind.
func (n *night) forecastControls(e *nightForecast, bounds replay.Bounds) {
	const size, answer = 1000, 60
	calls := n.config.controls() * len(replay.ControlKinds())
	e.add("judge's controls", n.judgeAs, replay.Outlook{
		Expected: replay.Demand{Calls: calls, PromptTokens: calls * size, AnswerTokens: calls * min(answer, bounds.Judge)},
		Most:     replay.Demand{Calls: 2 * calls, PromptTokens: 4 * calls * size, AnswerTokens: 2 * calls * bounds.Judge},
	})
}

// bounds are the longest answers of agent and judge: what their providers are told.
func (n *night) bounds() replay.Bounds {
	agent := answerBound(n.endpoint, n.settings.Model, int(n.config.Agent.MaxTokens))
	judge := answerBound(n.judgeAt, n.judgeAs, int(n.config.Judge.MaxTokens))
	return replay.Bounds{
		Agent: cmp.Or(agent, replay.LongAnswer), AgentAssumed: agent == 0,
		Judge: cmp.Or(judge, replay.LongJudgement), JudgeAssumed: judge == 0,
	}
}

// answerBound is the bound that goes with each question to a model, 0 where none does.
func answerBound(at model.Endpoint, name string, configured int) int {
	switch {
	case at.Anthropic != nil:
		return cmp.Or(at.Anthropic.MaxTokens, model.DefaultAnthropicTokens)
	case at.QuirksOf(name).MaxTokens == model.Omit:
		return 0
	}
	return configured
}

// conditions says under which conditions no more is asked than the forecast says.
func (n *night) conditions(e *nightForecast, bounds replay.Bounds) {
	if n.offline {
		return // its answers are short, and cost nothing
	}
	var keys []string
	if bounds.AgentAssumed {
		e.MostIf = append(e.MostIf, fmt.Sprintf("no answer of the agent is longer than %s", report.Plural(bounds.Agent, "token")))
		keys = append(keys, "agent.max_tokens")
	}
	if bounds.JudgeAssumed {
		e.MostIf = append(e.MostIf, fmt.Sprintf("no answer of the judge is longer than %s", report.Plural(bounds.Judge, "token")))
		keys = append(keys, "judge.max_tokens")
	}
	if len(keys) > 0 {
		e.Advice = "set " + strings.Join(keys, " and ") + " to bound that"
	}
	if n.user != nil {
		e.MostIf = append(e.MostIf, "no message of the simulated user is longer than twice the recorded one")
	}
}

// condition is the conditions in one sentence with what to do, empty where there is none.
func (e *nightForecast) condition() string {
	text := strings.Join(e.MostIf, ", and ")
	if text == "" || e.Advice == "" {
		return text
	}
	return text + "; " + e.Advice
}

// compactorModel is the model that a compactor is known to ask, or empty.
func (n *night) compactorModel(name string) string {
	c, ok := n.config.Compactors[name]
	switch {
	case !ok && compact.NeedsModel(name):
		return n.settings.Model
	case compact.NeedsModel(c.Use) || c.Preset != "":
		return cmp.Or(c.Model, n.settings.Model)
	}
	return ""
}

// notes says what the forecast leaves out.
func (n *night) notes(e *nightForecast) {
	for _, info := range n.infos {
		c, ok := n.config.Compactors[info.Compactor]
		foreign := ok && (len(c.Exec) > 0 || c.HTTP != "") || !ok && info.Compactor != "" && !isBuiltIn(info.Compactor)
		if foreign {
			e.Notes = append(e.Notes, fmt.Sprintf("what %s asks of models by itself is not counted", info.Name))
		}
	}
	switch n.cacheMode() {
	case model.CacheOnly:
		e.Notes = append(e.Notes, "the cache mode is only: stored answers are looked up, and no provider is asked")
	case model.CacheRead, model.CacheWrite:
		e.Notes = append(e.Notes, "answers that are stored already are not asked for again; the control's always are")
	}
	e.Notes = append(e.Notes, "expected: the agent takes as many turns as the recorded one, every item is put to the judge, nothing is played again; an item found letter for letter needs no judge, and arms with equal contexts share their answers")
	e.Notes = append(e.Notes, "the bound of tokens: no result of a tool is longer than the longest message after the fork in the recording, or than 200 tokens")
	if n.offline {
		e.Notes = append(e.Notes, "the embedded offline provider answers: it costs nothing")
	} else if !n.counter.Exact {
		e.Notes = append(e.Notes, fmt.Sprintf("tokens are counted with the vocabulary %s: that of %s is not known", n.counter.Vocabulary, n.settings.Model))
	}
}

func isBuiltIn(name string) bool {
	for _, known := range compact.Names() {
		if name == known {
			return true
		}
	}
	return false
}

// cacheMode is how answers are stored; the models have been opened with it, so that it is
// known to be one.
func (n *night) cacheMode() model.CacheMode {
	return model.CacheMode(cmp.Or(n.cli.String("cache"), n.config.Cache.Mode, string(model.CacheWrite)))
}

func (e *nightForecast) add(what, name string, asked replay.Outlook) {
	for i := range e.Asked {
		if e.Asked[i].For == what && e.Asked[i].Model == name {
			e.Asked[i].Outlook = e.Asked[i].Plus(asked)
			return
		}
	}
	e.Asked = append(e.Asked, purpose{what, name, asked})
}

// expense is what all of it costs, nil with the reason where a price is missing.
func (n *night) expense(asked []purpose) (*costRange, string) {
	if n.offline {
		return &costRange{}, ""
	}
	total := &costRange{}
	var missing []string
	for _, p := range asked {
		if p.Most.Calls == 0 {
			continue
		}
		price, known := n.config.price(p.Model)
		if !known {
			if !strings.Contains(strings.Join(missing, " "), p.Model) {
				missing = append(missing, p.Model)
			}
			continue
		}
		total.Expected += price.Cost(replay.Usage{PromptTokens: p.Expected.PromptTokens, CompletionTokens: p.Expected.AnswerTokens})
		total.Most += price.Cost(replay.Usage{PromptTokens: p.Most.PromptTokens, CompletionTokens: p.Most.AnswerTokens})
	}
	if len(missing) > 0 {
		return nil, fmt.Sprintf("prices has no entry for %s", strings.Join(missing, ", "))
	}
	return total, ""
}

// dryRun prints the forecast in place of a night.
func (n *night) dryRun() error {
	e, err := n.forecast()
	if err != nil {
		return err
	}
	if n.cli.Bool("json") {
		return writeIndented(n.cli.App.Writer, e)
	}
	fmt.Fprintln(n.cli.App.Writer, "Nothing was asked. This night would ask for:")
	return n.printForecast(n.cli.App.Writer, e)
}

func (n *night) printForecast(out io.Writer, e *nightForecast) error {
	out = report.Printable(out)
	fmt.Fprintf(out, "  %s x %s (%s) x %d: %s\n", report.Plural(e.Fixtures, "fixture"), report.Plural(len(e.Arms), "arm"), strings.Join(e.Arms, ", "), e.Replicates, report.Plural(e.Episodes, "episode"))
	if len(e.LeftOut) > 0 {
		fmt.Fprintf(out, "  %d do not fit the window whole and have no accepted trace, so that they are left out: %s\n", len(e.LeftOut), strings.Join(e.LeftOut, ", "))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	most := "at most"
	if len(e.MostIf) > 0 {
		most = "up to*"
	}
	fmt.Fprintf(w, "for\tmodel\tcalls\tat most\tprompt tokens\t%s\tanswer tokens\t%s\t\n", most, most)
	row := func(what, name string, o replay.Outlook) {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\t\n", what, name, o.Expected.Calls, o.Most.Calls,
			grouped(o.Expected.PromptTokens), grouped(o.Most.PromptTokens), grouped(o.Expected.AnswerTokens), grouped(o.Most.AnswerTokens))
	}
	for _, p := range e.Asked {
		row(p.For, p.Model, p.Outlook)
	}
	row("all", "", e.Total)
	if err := w.Flush(); err != nil {
		return err
	}
	if text := e.condition(); text != "" {
		fmt.Fprintf(out, "  (* if %s)\n", text)
	}
	fmt.Fprintf(out, "  money: %s\n", n.moneyText(e))
	for _, note := range e.Notes {
		fmt.Fprintf(out, "  (%s)\n", note)
	}
	return nil
}

// moneyText says what the night costs, and what it may.
func (n *night) moneyText(e *nightForecast) string {
	if e.Cost == nil {
		return "unknown: " + e.CostReason + "; add it to prices in the config, in US dollars a million tokens"
	}
	text := fmt.Sprintf("%.2f US dollars expected, %.2f at most", e.Cost.Expected, e.Cost.Most)
	if condition := e.condition(); condition != "" {
		text = fmt.Sprintf("%.2f US dollars expected, up to %.2f if %s", e.Cost.Expected, e.Cost.Most, condition)
	}
	if limit := n.config.Limits.MaxCostUSD; limit > 0 {
		text += fmt.Sprintf("; limits.max_cost_usd stops the night at %.2f", limit)
	}
	return text
}

// grouped is a whole number with its thousands apart.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
