// Package schema makes JSON Schemas (draft 2020-12) of Go types, as the files made from
// them stand on disk.
package schema

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"
)

// Names says how the fields of a struct are called in a file.
type Names int

// The ways to name fields.
const (
	// JSON goes by the json tags.
	JSON Names = iota
	// YAML goes by the yaml tags.
	YAML
	// Snake writes the fields' own names in snake case, for types that write themselves.
	Snake
)

// Maker makes schemas of one kind of file.
type Maker struct {
	Names Names
	// Strict refuses fields that the type doesn't have, as the file's reader does.
	Strict bool
	// Optional asks for no field at all.
	Optional bool
	// Types are the schemas of types that write themselves otherwise than their fields
	// say.
	Types map[reflect.Type]*jsonschema.Schema
	// Fields are the schemas of single fields, and Describe their descriptions, both by
	// [FieldName]; a type's own description goes by [TypeName].
	Fields   map[string]*jsonschema.Schema
	Describe map[string]string

	defs map[string]*jsonschema.Schema
	seen map[reflect.Type]bool
}

// TypeName is the name of a type with its package's, as in replay.Episode.
func TypeName(t reflect.Type) string {
	pkg := path.Base(t.PkgPath())
	if strings.HasSuffix(t.PkgPath(), "cmd/doubletake") {
		pkg = "main" // so in a test's binary, too
	}
	return pkg + "." + t.Name()
}

// FieldName is the name of a type's field, as in replay.Episode.Status.
func FieldName(t reflect.Type, field string) string { return TypeName(t) + "." + field }

// Make makes the schema of a type, with an id and a title. Types that are named stand in
// its $defs.
func (m *Maker) Make(t reflect.Type, id, title string) (*jsonschema.Schema, error) {
	m.defs, m.seen = map[string]*jsonschema.Schema{}, map[reflect.Type]bool{}
	root, err := m.object(t)
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", title, err)
	}
	m.finish(root, id, title)
	return root, nil
}

// AnyOf makes the schema of a file whose lines are each of one of several types. They are
// told apart by their field type, whose values are given beside the types.
func (m *Maker) AnyOf(id, title string, kinds []string, types []reflect.Type) (*jsonschema.Schema, error) {
	m.defs, m.seen = map[string]*jsonschema.Schema{}, map[reflect.Type]bool{}
	root := &jsonschema.Schema{}
	for i, t := range types {
		s, err := m.object(t)
		if err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", title, err)
		}
		s.Properties["type"] = &jsonschema.Schema{Const: jsonschema.Ptr[any](kinds[i])}
		s.PropertyOrder = append([]string{"type"}, s.PropertyOrder...)
		s.Required = append([]string{"type"}, s.Required...)
		root.AnyOf = append(root.AnyOf, s)
	}
	m.finish(root, id, title)
	return root, nil
}

func (m *Maker) finish(root *jsonschema.Schema, id, title string) {
	root.Schema, root.ID, root.Title = "https://json-schema.org/draft/2020-12/schema", id, title
	if len(m.defs) > 0 {
		root.Defs = m.defs
	}
}

// of is the schema of a type where it is used.
func (m *Maker) of(t reflect.Type) (*jsonschema.Schema, error) {
	if s := m.Types[t]; s != nil {
		return s.CloneSchemas(), nil
	}
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}, nil // any value
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}, nil
	}
	if t.Kind() == reflect.Pointer {
		s, err := m.of(t.Elem())
		if err != nil {
			return nil, err
		}
		return m.orNull(s), nil
	}
	if m.Names == JSON && (t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())) && t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s writes itself, and nothing says how", t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(0.0)}, nil
	case reflect.Float32, reflect.Float64:
		return &jsonschema.Schema{Type: "number"}, nil
	case reflect.Interface:
		return &jsonschema.Schema{}, nil
	case reflect.Slice, reflect.Array:
		items, err := m.of(t.Elem())
		if err != nil {
			return nil, err
		}
		return m.maybeNull(&jsonschema.Schema{Type: "array", Items: items}), nil
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: a map whose keys are no texts", t)
		}
		values, err := m.of(t.Elem())
		if err != nil {
			return nil, err
		}
		return m.maybeNull(&jsonschema.Schema{Type: "object", AdditionalProperties: values}), nil
	case reflect.Struct:
		return m.reference(t)
	}
	return nil, fmt.Errorf("%s has no form in JSON", t)
}

// maybeNull lets a list or a map be null in files that programs write: an empty one of
// Go's is.
func (m *Maker) maybeNull(s *jsonschema.Schema) *jsonschema.Schema {
	if m.Strict {
		return s
	}
	return m.orNull(s)
}

func (m *Maker) orNull(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Type != "":
		s.Types, s.Type = []string{s.Type, "null"}, ""
	case s.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	case len(s.Types) > 0 && !slices.Contains(s.Types, "null"):
		s.Types = append(s.Types, "null")
	}
	if s.Enum != nil {
		s.Enum = append(slices.Clone(s.Enum), nil)
	}
	return s
}

// reference puts a named struct into $defs, once.
func (m *Maker) reference(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Name() == "" {
		return m.object(t)
	}
	name := TypeName(t)
	if !m.seen[t] {
		m.seen[t] = true
		s, err := m.object(t)
		if err != nil {
			return nil, err
		}
		m.defs[name] = s
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}, nil
}

// object is the schema of a struct with its fields.
func (m *Maker) object(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, Description: m.Describe[TypeName(t)]}
	if err := m.fields(s, t); err != nil {
		return nil, err
	}
	if m.Strict {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	return s, nil
}

func (m *Maker) fields(s *jsonschema.Schema, t reflect.Type) error {
	for i := range t.NumField() {
		field := t.Field(i)
		name, optional := m.name(&field)
		if field.Anonymous && name == "" {
			embedded := field.Type
			for embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			if err := m.fields(s, embedded); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			continue
		}
		key := FieldName(t, field.Name)
		property := m.Fields[key]
		if property == nil {
			var err error
			if property, err = m.of(field.Type); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		} else {
			property = property.CloneSchemas()
		}
		if text := m.Describe[key]; text != "" {
			property.Description = text
		}
		if s.Properties[name] == nil { // else an embedded field of that name stands further out
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
		s.Properties[name] = property
		if !optional && !m.Optional && !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
	return nil
}

// name is what a field is called in the file, or empty where it isn't in it, and whether
// it may be left out.
func (m *Maker) name(field *reflect.StructField) (name string, optional bool) {
	if !field.IsExported() && !field.Anonymous {
		return "", false
	}
	switch m.Names {
	case YAML:
		name, _, _ = strings.Cut(field.Tag.Get("yaml"), ",")
		return name, true
	case Snake:
		if tag, ok := field.Tag.Lookup("json"); ok {
			name, _, _ = strings.Cut(tag, ",")
			if name == "-" {
				name = ""
			}
			return name, strings.Contains(tag, "omit")
		}
		if field.Name == "Extra" || field.Name == "Parts" {
			return "", true // what else stands in the record, and its content once more
		}
		return snake(field.Name), true
	}
	tag := field.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	if name == "-" {
		return "", false
	}
	if name == "" && !field.Anonymous {
		name = field.Name
	}
	return name, strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
}

// snake writes ToolCallID as tool_call_id.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Structs lists the structs that a type is made of, itself included, each once.
func Structs(types ...reflect.Type) []reflect.Type {
	var list []reflect.Type
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			if slices.Contains(list, t) || t == reflect.TypeFor[time.Time]() {
				return
			}
			list = append(list, t)
			for i := range t.NumField() {
				walk(t.Field(i).Type)
			}
		}
	}
	for _, t := range types {
		walk(t)
	}
	return list
}
