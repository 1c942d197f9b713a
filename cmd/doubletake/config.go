package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/xrash/smetrics"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/model"
)

// configFile is the config that is read where no other is named.
const configFile = "doubletake.yaml"

// config is doubletake.yaml.
type config struct {
	// Version is that of the file's form; 0 means 1.
	Version    whole                      `yaml:"version"`
	Set        string                     `yaml:"set"`
	Agent      agentConfig                `yaml:"agent"`
	Judge      judgeConfig                `yaml:"judge"`
	User       userConfig                 `yaml:"user"`
	Compactors map[string]compactorConfig `yaml:"compactors"`
	Nightly    nightlyConfig              `yaml:"nightly"`
	Gates      map[string]float64         `yaml:"gates"`
	Test       testConfig                 `yaml:"test"`
	Limits     limitsConfig               `yaml:"limits"`
	Cache      cacheConfig                `yaml:"cache"`
	Tools      toolsConfig                `yaml:"tools"`
	Cluster    clusterConfig              `yaml:"cluster"`
	Prices     map[string]priceConfig     `yaml:"prices"` // by model name

	dir  string // where the file lies: paths in it are relative to that
	file string // what errors call it; empty where there is none
	text string // the file as it is
}

type agentConfig struct {
	// Provider is openai or anthropic; MaxTokens and PromptCache go with anthropic.
	Provider    string `yaml:"provider"`
	MaxTokens   whole  `yaml:"max_tokens"`
	PromptCache bool   `yaml:"prompt_cache"`
	Model       string `yaml:"model"`
	// API is chat or responses.
	API         string   `yaml:"api"`
	BaseURL     string   `yaml:"base_url"`
	Temperature *float64 `yaml:"temperature"`
	Seed        *whole   `yaml:"seed"`
	Window      whole    `yaml:"window"`
	StepLimit   whole    `yaml:"step_limit"`
	// Stream asks for answers piece by piece; Quirks say how the model wants to be asked.
	Stream bool          `yaml:"stream"`
	Quirks *model.Quirks `yaml:"quirks"`
}

type judgeConfig struct {
	// Provider is openai or anthropic, the agent's where it is empty; MaxTokens goes with
	// anthropic.
	Provider  string `yaml:"provider"`
	MaxTokens whole  `yaml:"max_tokens"`

	Model   string `yaml:"model"`
	BaseURL string `yaml:"base_url"`
	// Controls is how many controls of each kind are planted.
	Controls *whole `yaml:"controls"`
	// MinAccuracy is the share of controls that the judge must get right.
	MinAccuracy *float64 `yaml:"min_accuracy"`
	// Stream and Quirks are those of the agent.
	Stream bool          `yaml:"stream"`
	Quirks *model.Quirks `yaml:"quirks"`
}

// defaultControls is how many controls of each kind are planted where the config
// says nothing.
const defaultControls = 3

func (c *config) controls() int {
	if c.Judge.Controls != nil {
		return int(*c.Judge.Controls)
	}
	return defaultControls
}

type compactorConfig struct {
	Use  string   `yaml:"use"`
	Exec []string `yaml:"exec"`
	// KeepAlive starts the command once and asks it line by line.
	KeepAlive bool   `yaml:"keep_alive"`
	HTTP      string `yaml:"http"`
	// HeadersEnv names the environment variable that holds a header's value.
	HeadersEnv map[string]string `yaml:"headers_env"`
	// File is the folder of saved outputs.
	File string `yaml:"file"`
	// Preset is a provider's own compaction, at BaseURL, with Instructions.
	Preset       string `yaml:"preset"`
	BaseURL      string `yaml:"base_url"`
	Instructions string `yaml:"instructions"`
	// The options of clear-tool-results.
	ToolUses        whole    `yaml:"tool_uses"`
	ClearAtLeast    whole    `yaml:"clear_at_least"`
	ExcludeTools    []string `yaml:"exclude_tools"`
	ClearToolInputs bool     `yaml:"clear_tool_inputs"`

	Prompt  string   `yaml:"prompt"`
	Model   string   `yaml:"model"`
	Keep    whole    `yaml:"keep"`
	Trigger float64  `yaml:"trigger"`
	Timeout duration `yaml:"timeout"`
	Env     []string `yaml:"env"`
}

type nightlyConfig struct {
	Incumbent string `yaml:"incumbent"`
	Candidate string `yaml:"candidate"`
	Control   *bool  `yaml:"control"`
	Confirm   whole  `yaml:"confirm"`
	// Replicates is how often each episode is played; the test takes the means.
	Replicates whole `yaml:"replicates"`
	// Stop is early or never.
	Stop string `yaml:"stop"`
	// SecondPass gives each compactor its own output once more.
	SecondPass *bool `yaml:"second_pass"`
	// Mode is closed or step, User recorded or simulated.
	Mode string `yaml:"mode"`
	User string `yaml:"user"`
}

type testConfig struct {
	Alpha       *float64 `yaml:"alpha"`
	Margin      *float64 `yaml:"margin"`
	Confidence  *float64 `yaml:"confidence"`
	Power       *float64 `yaml:"power"`
	MaxUnscored *float64 `yaml:"max_unscored"`
	NoiseBudget *float64 `yaml:"noise_budget"`
	SliceRate   *float64 `yaml:"slice_rate"`
	LookEvery   *whole   `yaml:"look_every"` // sessions
}

type limitsConfig struct {
	Concurrency       whole `yaml:"concurrency"`
	RequestsPerMinute whole `yaml:"requests_per_minute"`
	TokensPerMinute   whole `yaml:"tokens_per_minute"`
	// RequestsInFlight is how many requests may wait for their answer at once.
	RequestsInFlight whole   `yaml:"requests_in_flight"`
	MaxCostUSD       dollars `yaml:"max_cost_usd"`
	// MaxTokens is how many tokens of prompts and answers a night may take in all.
	MaxTokens whole    `yaml:"max_tokens"`
	Timeout   duration `yaml:"timeout"`
	// IdleTimeout is the longest silence in the middle of an answer, EpisodeTimeout the
	// longest time of an episode.
	IdleTimeout    duration `yaml:"idle_timeout"`
	EpisodeTimeout duration `yaml:"episode_timeout"`
	Tries          whole    `yaml:"tries"`
}

type cacheConfig struct {
	Dir  string `yaml:"dir"`
	Mode string `yaml:"mode"`
	// MaxAge is how long an answer may stay unused, MaxMB how many megabytes (of a million
	// bytes) the cache may have; 0 means no limit.
	MaxAge age   `yaml:"max_age"`
	MaxMB  whole `yaml:"max_mb"`
}

// priceConfig is what a model costs, in US dollars for a million tokens. What is not said
// of Input or Output is no price of 0.
type priceConfig struct {
	Input  *float64 `yaml:"input"`
	Output *float64 `yaml:"output"`
	// CachedInput is for prompt tokens that the provider's prefix cache served; 0 means Input.
	CachedInput float64 `yaml:"cached_input"`
	// CacheWrite is for prompt tokens that the provider took into its cache and counts apart;
	// 0 means Input.
	CacheWrite float64 `yaml:"cache_write"`
}

// price is what the model of that name costs, and whether that is said.
func (c *config) price(name string) (price model.Price, known bool) {
	p, ok := c.Prices[name]
	if !ok || p.Input == nil || p.Output == nil {
		return model.Price{}, false
	}
	return model.Price{Input: *p.Input, Output: *p.Output, CachedInput: p.CachedInput, CacheWrite: p.CacheWrite}, true
}

// prices are the prices by model name.
func (c *config) prices() map[string]model.Price {
	prices := map[string]model.Price{}
	for name := range c.Prices {
		if price, known := c.price(name); known {
			prices[name] = price
		}
	}
	return prices
}

// duration is a time.Duration written as in 60s or 2m.
type duration time.Duration

// UnmarshalYAML reads a duration.
func (d *duration) UnmarshalYAML(node ast.Node) error {
	text := scalar(node)
	value, err := time.ParseDuration(text)
	if err != nil || value <= 0 {
		return misplaced(node, "%.40q is no duration above zero, such as 60s or 2m", text)
	}
	*d = duration(value)
	return nil
}

// loadConfig reads the named config, or ./doubletake.yaml if there is one, or
// returns an empty one.
func loadConfig(path string) (*config, error) {
	named := path != ""
	if !named {
		path = configFile
	}
	data, err := readSmall(path)
	if errors.Is(err, os.ErrNotExist) && !named {
		return &config{dir: "."}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the config: %w", err)
	}
	return parseConfig(data, path, filepath.Dir(path))
}

// parseConfig reads a config; path is what errors call it, dir where its paths begin.
func parseConfig(data []byte, path, dir string) (*config, error) {
	data = plainLines(data)
	c := config{dir: dir, file: path, text: string(data)}
	if len(strings.TrimSpace(string(data))) > 0 {
		decoder := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict())
		if err := decoder.Decode(&c); err != nil {
			return nil, fmt.Errorf("config %s: %s", path, explainYAML(err))
		}
		var second any
		if err := decoder.Decode(&second); err != io.EOF {
			return nil, fmt.Errorf("config %s: %s", path, secondDocument(c.text))
		}
	}
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("config %s: %w", path, placed(c.text, err))
	}
	return &c, nil
}

// plainLines is a YAML file as the parser shows its lines: without the mark at its beginning
// and the carriage returns that some editors put in.
func plainLines(data []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
}

// readSmall reads a regular file of at most a megabyte: a config, a prompt, a list of
// floors. The parser takes its time with more.
func readSmall(path string) ([]byte, error) {
	const most = 1 << 20
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: want a regular file of at most 1 MB", path)
	}
	return os.ReadFile(path)
}

// whole is a whole number; the parser would cut 1.9 down to 1.
type whole int

// UnmarshalYAML reads a whole number.
func (w *whole) UnmarshalYAML(node ast.Node) error {
	text := scalar(node)
	n, err := strconv.Atoi(strings.ReplaceAll(text, "_", ""))
	if err != nil {
		return misplaced(node, "%.40q is no whole number", text)
	}
	if n == 0 && slices.Contains(atLeastOne(), place(node)) {
		return misplaced(node, "0 is no limit of any kind; leave the key out for none")
	}
	*w = whole(n)
	return nil
}

// atLeastOne lists the keys at which 0 would say something else than what it does, which
// is to leave the default.
func atLeastOne() []string {
	return []string{
		"limits.concurrency", "limits.requests_per_minute", "limits.tokens_per_minute", "limits.requests_in_flight", "limits.max_tokens", "limits.tries",
		"agent.window", "agent.step_limit", "agent.max_tokens", "judge.max_tokens", "nightly.replicates", "cache.max_mb",
	}
}

// dollars is an amount of money above zero.
type dollars float64

// UnmarshalYAML reads an amount.
func (d *dollars) UnmarshalYAML(node ast.Node) error {
	text := scalar(node)
	value, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil || !(value > 0 && value < 1e9) {
		return misplaced(node, "%.40q is no amount of money above zero; leave the key out for no limit", text)
	}
	*d = dollars(value)
	return nil
}

// scalar is the text of a value, without its quotes.
func scalar(node ast.Node) string {
	return strings.Trim(strings.TrimSpace(node.String()), `"'`)
}

// place is where a value stands, as in limits.timeout.
func place(node ast.Node) string { return strings.TrimPrefix(node.GetPath(), "$.") }

// misplaced says what is wrong with a value, and where it stands.
func misplaced(node ast.Node, format string, args ...any) error {
	at := node.GetToken()
	return fmt.Errorf("[%d:%d] %s: %w\n%s", at.Position.Line, at.Position.Column, place(node), fmt.Errorf(format, args...), excerptAt(at))
}

// explainYAML adds the nearest known key to the parser's error, which has line,
// column and the place in the source.
func explainYAML(err error) string {
	text := withoutKeys(strings.TrimRight(yaml.FormatError(err, false, true), "\n"))
	var kind *yaml.TypeError
	if errors.As(err, &kind) {
		// The library speaks of Go's types; a reader of YAML has lists and texts.
		head, rest, _ := strings.Cut(text, "\n")
		place, _, _ := strings.Cut(head, "cannot unmarshal")
		return place + "want " + yamlKind(kind.DstType) + ", have " + yamlKind(kind.SrcType) + "\n" + rest
	}
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) || unknown.GetToken() == nil {
		return text
	}
	key := unknown.GetToken().Value
	nearest := slices.MaxFunc(knownKeys(reflect.TypeFor[config]()), func(a, b string) int {
		return cmp.Compare(smetrics.JaroWinkler(key, a, 0.7, 4), smetrics.JaroWinkler(key, b, 0.7, 4))
	})
	return text + fmt.Sprintf("\ndid you mean %q?", nearest)
}

// yamlKind names a Go type as people name it in YAML.
func yamlKind(t reflect.Type) string {
	switch {
	case t == nil:
		return "nothing"
	case t == reflect.TypeFor[duration]():
		return "a duration such as 60s"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return yamlKind(t.Elem())
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	}
	return "a whole number"
}

// knownKeys lists the keys of a config type and of all types inside it.
func knownKeys(t reflect.Type) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice:
		return knownKeys(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var keys []string
	for i := range t.NumField() {
		field := t.Field(i)
		if name, ok := field.Tag.Lookup("yaml"); ok {
			keys = append(append(keys, name), knownKeys(field.Type)...)
		}
	}
	return keys
}

func (c *config) validate() error {
	if err := c.validateForm(); err != nil {
		return err
	}
	if t := c.Agent.Temperature; t != nil && *t != 0 {
		return wrong([]string{"agent", "temperature"}, "%v; a replay compares two plays and needs 0", *t)
	}
	if err := c.validateAPI(); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Compactors)) {
		if key, err := c.Compactors[name].validate(); err != nil {
			return about(fmt.Errorf("compactors.%s: %w", name, err), "compactors", name, key)
		}
	}
	numbers := map[string]whole{
		"agent.window": c.Agent.Window, "agent.step_limit": c.Agent.StepLimit, "limits.concurrency": c.Limits.Concurrency,
		"limits.requests_per_minute": c.Limits.RequestsPerMinute, "limits.tokens_per_minute": c.Limits.TokensPerMinute, "limits.tries": c.Limits.Tries,
		"limits.requests_in_flight": c.Limits.RequestsInFlight, "limits.max_tokens": c.Limits.MaxTokens,
		"nightly.confirm": c.Nightly.Confirm, "nightly.replicates": c.Nightly.Replicates, "judge.controls": whole(c.controls()),
		"agent.max_tokens": c.Agent.MaxTokens, "judge.max_tokens": c.Judge.MaxTokens, "cache.max_mb": c.Cache.MaxMB,
	}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if n := numbers[name]; n < 0 {
			return wrong(strings.Split(name, "."), "%d is negative", n)
		}
	}
	if c.Nightly.Confirm > maxConfirm {
		return wrong([]string{"nightly", "confirm"}, "%d; at most %d further plays tell stable from flaky", c.Nightly.Confirm, maxConfirm)
	}
	if c.Nightly.Replicates > maxConfirm {
		return wrong([]string{"nightly", "replicates"}, "%d; want at most %d", c.Nightly.Replicates, maxConfirm)
	}
	if err := c.money(); err != nil {
		return err
	}
	if err := c.validateProviders(); err != nil {
		return err
	}
	if err := c.validateAsking(); err != nil {
		return err
	}
	if err := c.validateAddresses(); err != nil {
		return err
	}
	if err := c.validateUser(); err != nil {
		return err
	}
	if err := c.Cluster.validate(); err != nil {
		return err
	}
	return c.validateAnalysis()
}

// maxConfirm bounds how often a discordant pair is played again.
const maxConfirm = 100

// money says what is wrong with prices and limits.
func (c *config) money() error {
	amount := func(v float64, keys ...string) error {
		if !(v >= 0 && v < 1e9) {
			return wrong(keys, "%v is no amount of money", v)
		}
		return nil
	}
	if err := amount(float64(c.Limits.MaxCostUSD), "limits", "max_cost_usd"); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		p, said := c.price(name)
		if !said {
			return wrong([]string{"prices", name}, "want both input and output, in US dollars a million tokens; 0 says that one is free")
		}
		for _, err := range []error{
			amount(p.Input, "prices", name, "input"), amount(p.Output, "prices", name, "output"),
			amount(p.CachedInput, "prices", name, "cached_input"), amount(p.CacheWrite, "prices", name, "cache_write"),
		} {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// validate says what is wrong with a compactor, and with which of its keys; the key is
// empty where it is the whole.
func (c compactorConfig) validate() (key string, err error) {
	var kinds []string
	for _, kind := range []struct {
		name string
		set  bool
	}{{"use", c.Use != ""}, {"exec", len(c.Exec) > 0}, {"http", c.HTTP != ""}, {"file", c.File != ""}, {"preset", c.Preset != ""}} {
		if kind.set {
			kinds = append(kinds, kind.name)
		}
	}
	switch {
	case len(kinds) == 0:
		return "", fmt.Errorf("wants use (one of %s), exec (a command), http (an address), file (a folder of saved outputs) or preset (one of %s)", strings.Join(compact.Names(), ", "), strings.Join(compact.Presets(), ", "))
	case len(kinds) == 2:
		return "", fmt.Errorf("has both %s and %s", kinds[0], kinds[1])
	case len(kinds) > 2:
		return "", fmt.Errorf("has %s; want one of them", strings.Join(kinds, ", "))
	case c.KeepAlive && len(c.Exec) == 0:
		return "keep_alive", errors.New("has keep_alive, which goes with exec")
	case len(c.HeadersEnv) > 0 && c.HTTP == "":
		return "headers_env", errors.New("has headers_env, which goes with http")
	case c.Use != "" && !slices.Contains(compact.Names(), c.Use):
		_, err := compact.New(c.Use, compact.Options{})
		return "use", err
	case !(c.Trigger >= 0 && c.Trigger <= 1):
		return "trigger", fmt.Errorf("trigger: %v is not between 0 and 1", c.Trigger)
	}
	return c.validateOptions()
}

// analysis is what the verdict is found by: the defaults with what the config says.
func (c *config) analysis() analysis.Settings {
	s := analysis.DefaultSettings()
	for name, value := range c.Gates {
		_ = s.SetGate(name, value) // validate has refused what it does not know
	}
	for _, set := range []struct {
		from *float64
		to   *float64
	}{
		{c.Test.Alpha, &s.Alpha}, {c.Test.Margin, &s.Margin}, {c.Test.Confidence, &s.Confidence},
		{c.Test.Power, &s.Power}, {c.Test.MaxUnscored, &s.MaxUnscored},
		{c.Judge.MinAccuracy, &s.JudgeAccuracy}, {c.Test.NoiseBudget, &s.NoiseBudget}, {c.Test.SliceRate, &s.SliceRate},
	} {
		if set.from != nil {
			*set.to = *set.from
		}
	}
	if c.Nightly.Stop != "" {
		s.Stop = analysis.Stop(c.Nightly.Stop)
	}
	if c.Test.LookEvery != nil {
		s.LookEvery = int(*c.Test.LookEvery)
	}
	return s
}

// setFolder is the folder of the config's set; empty where it names none.
func (c *config) setFolder() (string, error) {
	dir := c.path(c.Set)
	if dir == "" {
		return "", nil
	}
	if _, _, err := setFiles(dir); err != nil {
		return "", c.wrongSince(wrong([]string{"set"}, "%w", err))
	}
	return dir, nil
}

// path resolves a path of the config against where the config lies.
func (c *config) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, name)
}
