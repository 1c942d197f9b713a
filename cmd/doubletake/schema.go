package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"text/tabwriter"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis"
	"github.com/doubletake-dev/doubletake/cmd/doubletake/schema"
	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/compact"
	"github.com/doubletake-dev/doubletake/replay/model"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:      "schema",
		Usage:     "print the JSON Schema of a file that doubletake reads or writes",
		ArgsUsage: "[NAME]",
		Description: `Without a name it lists them. Schemas of JSON Lines hold for each line. They are made of
the types that the program reads and writes with, and carry the version of the form.

   doubletake schema
   doubletake schema config > config.schema.json
   doubletake schema fixture`,
		Flags: []cli.Flag{jsonFlag()},
		Action: func(c *cli.Context) error {
			switch c.NArg() {
			case 0:
				return listSchemas(c)
			case 1:
				text, err := schemaText(c.Args().First())
				if err != nil {
					return err
				}
				_, err = c.App.Writer.Write(text)
				return err
			}
			return usageError("schema wants one name or none, have %d (doubletake schema lists them)", c.NArg())
		},
	}
}

func listSchemas(c *cli.Context) error {
	kinds := schemaKinds()
	if c.Bool("json") {
		return writeIndented(c.App.Writer, kinds)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, k := range kinds {
		fmt.Fprintf(w, "%s\tversion %d\t%s\n", k.Name, k.Version, k.About)
	}
	return w.Flush()
}

// schemaKind is a kind of file that has a schema.
type schemaKind struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	About   string `json:"about"`

	// hand says that people write the file, and that unknown fields are refused.
	hand bool
	// sealed says that each line ends in its checksum.
	sealed bool
	types  []reflect.Type
	lines  []string // what the field type says, where lines are of several types
	names  schema.Names
}

// schemaKinds lists the kinds of files.
func schemaKinds() []schemaKind {
	request, answer := compact.ContractTypes()
	one := func(t reflect.Type) []reflect.Type { return []reflect.Type{t} }
	return []schemaKind{
		{Name: "config", Version: configVersion, About: configFile, hand: true, types: one(reflect.TypeFor[config]()), names: schema.YAML},
		{
			Name: "recording", Version: fixtures.RecordingVersion, About: "a line of a recording", names: schema.Snake,
			types: []reflect.Type{reflect.TypeFor[fixtures.Header](), reflect.TypeFor[fixtures.Message](), reflect.TypeFor[fixtures.Compaction]()},
			lines: []string{"recording", "message", "compaction"},
		},
		{Name: "fixture", Version: fixtures.FixtureVersion, About: "a fixture", hand: true, types: one(reflect.TypeFor[fixtures.Fixture]())},
		{Name: "manifest", Version: fixtures.ManifestFormat, About: fixtures.ManifestFile + " of a set", hand: true, types: one(reflect.TypeFor[fixtures.Manifest]())},
		{Name: "run", Version: replay.RunVersion, About: replay.RunFile + " of a run directory", types: one(reflect.TypeFor[replay.Run]())},
		{Name: "run-fixture", Version: replay.RunVersion, About: "a line of " + replay.FixturesFile, sealed: true, types: one(replay.StoredFixtureType())},
		{Name: "episode", Version: replay.RunVersion, About: "a line of " + replay.EpisodesFile, sealed: true, types: one(reflect.TypeFor[replay.Episode]())},
		{Name: "judgement", Version: replay.RunVersion, About: "a line of " + replay.JudgementsFile, sealed: true, types: one(reflect.TypeFor[replay.Judgement]())},
		{Name: "control", Version: replay.RunVersion, About: "a line of " + replay.ControlsFile, sealed: true, types: one(reflect.TypeFor[replay.Control]())},
		{Name: "rating", Version: replay.RunVersion, About: "a line of " + replay.RatingsFile, sealed: true, types: one(reflect.TypeFor[replay.Rating]())},
		{Name: "pair", Version: replay.RunVersion, About: "a line of " + replay.PairsFile, types: one(reflect.TypeFor[pairing.Pair]())},
		{Name: "queue", Version: replay.RunVersion, About: "a line of " + replay.QueueFile, types: one(reflect.TypeFor[pairing.Entry]())},
		{Name: "verdict", Version: replay.RunVersion, About: "a line of " + pairing.VerdictsFile, types: one(reflect.TypeFor[pairing.Verdict]())},
		{Name: "report", Version: analysis.ReportVersion, About: "report.json", types: one(reflect.TypeFor[analysis.Report]())},
		{Name: "compact-request", Version: compact.ContractVersion, About: "what a compactor of yours reads", types: one(request)},
		{Name: "compact-answer", Version: compact.ContractVersion, About: "what it answers", types: one(answer)},
	}
}

// descriptions are the doc comments of the types, by type and field. A test writes the
// file, and holds it to the source.
//
//go:embed descriptions.json
var descriptions []byte

// schemaText is the schema of that name as it is printed.
func schemaText(name string) ([]byte, error) {
	s, err := schemaOf(name)
	if err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema %s: %w", name, err)
	}
	return append(data, '\n'), nil
}

func schemaOf(name string) (*jsonschema.Schema, error) {
	var names []string
	for _, k := range schemaKinds() {
		if k.Name == name {
			return k.schema()
		}
		names = append(names, k.Name)
	}
	hint := ""
	if like := nearest(name, names); like != "" {
		hint = fmt.Sprintf("; did you mean %q?", like)
	}
	return nil, usageError("no schema is called %q%s (doubletake schema lists them)", name, hint)
}

// schema makes the schema of a kind of file.
func (k *schemaKind) schema() (*jsonschema.Schema, error) {
	m := &schema.Maker{Names: k.names, Strict: k.hand, Optional: k.Name == "config" || k.Name == "compact-answer", Types: schemaTypes(), Fields: schemaFields()}
	if err := json.Unmarshal(descriptions, &m.Describe); err != nil {
		return nil, fmt.Errorf("reading the descriptions: %w", err)
	}
	id := fmt.Sprintf("https://github.com/doubletake-dev/doubletake/schema/%s/%d", k.Name, k.Version)
	title := "doubletake: " + k.About
	if k.lines != nil {
		s, err := m.AnyOf(id, title, k.lines, k.types)
		if err == nil {
			for i, required := range [][]string{{"version", "id"}, {"turn", "role"}, {"after_turn"}} {
				s.AnyOf[i].Required = append(s.AnyOf[i].Required, required...)
			}
		}
		return s, err
	}
	s, err := m.Make(k.types[0], id, title)
	if err != nil {
		return nil, err
	}
	switch {
	case k.sealed:
		s.Properties["sum"] = &jsonschema.Schema{Type: "string", Pattern: "^[0-9a-f]{16}$", Description: "The checksum of the line without it."}
		s.Required, s.PropertyOrder = append(s.Required, "sum"), append(s.PropertyOrder, "sum")
	case k.Name == "compact-answer":
		s.Required = []string{"status"}
	case k.Name == "config":
		s.Defs[reflect.TypeFor[priceConfig]().String()].Required = []string{"input", "output"}
	}
	for _, field := range []string{"version", "format"} {
		// A manifest's version is the set's, a report's and a config's that of their form.
		if p := s.Properties[field]; p != nil && p.Type == "integer" {
			p.Minimum, p.Maximum = jsonschema.Ptr(1.0), jsonschema.Ptr(float64(k.Version))
		}
	}
	return s, nil
}

// schemaTypes are the schemas of types that read or write themselves, or that are one of
// a few names.
func schemaTypes() map[reflect.Type]*jsonschema.Schema {
	classes := []any{}
	for _, c := range fixtures.Classes() {
		classes = append(classes, string(c))
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[duration]():          {Type: "string", Pattern: "^([0-9.]+(ns|us|µs|ms|s|m|h))+$", Examples: []any{"60s"}},
		reflect.TypeFor[age]():               {Type: "string", Pattern: "^([0-9.]+d|([0-9.]+(ns|us|µs|ms|s|m|h))+)$", Examples: []any{"30d"}},
		reflect.TypeFor[fixtures.Fork]():     {AnyOf: []*jsonschema.Schema{{Const: jsonschema.Ptr[any]("last")}, {Type: "integer", Minimum: jsonschema.Ptr(1.0)}, {Type: "null"}}},
		reflect.TypeFor[fixtures.Class]():    {Type: "string", Enum: classes},
		reflect.TypeFor[fixtures.Status]():   {Type: "string", Enum: []any{string(fixtures.Active), string(fixtures.Superseded), string(fixtures.Completed), string(fixtures.Withdrawn)}},
		reflect.TypeFor[fixtures.Severity](): {Type: "string", Enum: []any{string(fixtures.Catastrophic)}},
	}
}

// schemaFields are the schemas of fields that take one of a few names, or whose type does
// not say what they hold.
func schemaFields() map[string]*jsonschema.Schema {
	text := func(names ...string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "string"}
		for _, n := range names {
			s.Enum = append(s.Enum, n)
		}
		return s
	}
	in := reflect.TypeFor[agentConfig]()
	content := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Types: []string{"string", "null"}}, {Type: "array"}}}
	return map[string]*jsonschema.Schema{
		schema.FieldName(in, "Provider"):                                 text(providerOpenAI, providerAnthropic),
		schema.FieldName(reflect.TypeFor[judgeConfig](), "Provider"):     text(providerOpenAI, providerAnthropic),
		schema.FieldName(in, "API"):                                      text(apiChat, apiResponses),
		schema.FieldName(in, "Temperature"):                              {Const: jsonschema.Ptr[any](0)},
		schema.FieldName(reflect.TypeFor[priceConfig](), "Input"):        {Type: "number", Minimum: jsonschema.Ptr(0.0)},
		schema.FieldName(reflect.TypeFor[priceConfig](), "Output"):       {Type: "number", Minimum: jsonschema.Ptr(0.0)},
		schema.FieldName(reflect.TypeFor[compactorConfig](), "Use"):      text(compact.Names()...),
		schema.FieldName(reflect.TypeFor[compactorConfig](), "Preset"):   text(compact.Presets()...),
		schema.FieldName(reflect.TypeFor[compactorConfig](), "Trigger"):  {Type: "number", Minimum: jsonschema.Ptr(0.0), Maximum: jsonschema.Ptr(1.0)},
		schema.FieldName(reflect.TypeFor[nightlyConfig](), "Stop"):       text(string(analysis.StopNever), string(analysis.StopEarly)),
		schema.FieldName(reflect.TypeFor[nightlyConfig](), "User"):       text(userRecorded, userSimulated),
		schema.FieldName(reflect.TypeFor[nightlyConfig](), "Mode"):       text(replay.ClosedLoop.String(), replay.StepByStep.String()),
		schema.FieldName(reflect.TypeFor[cacheConfig](), "Mode"):         text(string(model.CacheOff), string(model.CacheRead), string(model.CacheWrite), string(model.CacheOnly)),
		schema.FieldName(reflect.TypeFor[fixtures.Message](), "Content"): content,
		schema.FieldName(reflect.TypeFor[fixtures.Message](), "Role"):    text(fixtures.RoleSystem, fixtures.RoleUser, fixtures.RoleAssistant, fixtures.RoleTool),
		"compact.contractOutput.Status":                                  text(string(replay.Compacted), string(replay.Unchanged), string(replay.Refused), string(replay.Failed)),
		"compact.printedMessage.Content":                                 content,
		"compact.printedMessage.Role":                                    text(fixtures.RoleSystem, fixtures.RoleUser, fixtures.RoleAssistant, fixtures.RoleTool),
		"compact.printedMessage.Kind":                                    text(replay.KindSummary, replay.KindKept, replay.KindOpaque, ""),
	}
}
