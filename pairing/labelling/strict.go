package labelling

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// decodeStrict reads the one JSON value of a line. It refuses what encoding/json lets
// pass: fields in another case, fields that stand twice, that are not there, or that the
// type does not have, and anything behind the value.
func decodeStrict(line []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	var whole json.RawMessage
	if err := dec.Decode(&whole); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return errors.New("the line ends amid its JSON object")
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value in the line")
	}
	var w walk
	w.value(whole, reflect.TypeOf(into).Elem(), "")
	if len(w.faults) > 0 {
		return errors.Join(w.faults...)
	}
	if err := json.Unmarshal(whole, into); err != nil {
		return err
	}
	return nil
}

// walk goes through well-formed JSON beside the Go type that it is for.
type walk struct{ faults []error }

func (w *walk) fault(path, format string, args ...any) {
	w.faults = append(w.faults, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

func (w *walk) value(raw json.RawMessage, t reflect.Type, path string) {
	raw = bytes.TrimSpace(raw)
	where := path
	if where == "" {
		where = "the line"
	}
	if t.Kind() == reflect.Pointer {
		if string(raw) == "null" {
			return
		}
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		if raw[0] != '{' {
			w.fault(where, "want an object")
			return
		}
		w.object(raw, t, path)
	case reflect.Slice:
		if raw[0] != '[' {
			w.fault(where, "want a list")
			return
		}
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			w.fault(where, "%v", err)
			return
		}
		for i := range list {
			w.value(list[i], t.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.String:
		if raw[0] != '"' {
			w.fault(where, "want a string")
		}
	case reflect.Int:
		var n int
		if json.Unmarshal(raw, &n) != nil || string(raw) == "null" {
			w.fault(where, "want a whole number")
		}
	}
}

func (w *walk) object(raw json.RawMessage, t reflect.Type, path string) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		w.fault(path, "%v", err)
		return
	}
	var seen []string
	for dec.More() {
		token, err := dec.Token()
		name, _ := token.(string)
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		within := strings.TrimPrefix(path+"."+name, ".")
		if err != nil {
			w.fault(within, "%v", err)
			return
		}
		field, ok := fieldOf(t, name)
		switch {
		case slices.Contains(seen, name):
			w.fault(within, "stands twice")
		case !ok:
			w.fault(within, "no such field; there are %s", strings.Join(fieldNames(t), ", "))
		default:
			w.value(value, field.Type, within)
		}
		seen = append(seen, name)
	}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if options != "omitempty" && !slices.Contains(seen, name) {
			w.fault(strings.TrimPrefix(path+"."+name, "."), "is not there")
		}
	}
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); tag == name {
			return t.Field(i), true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, tag)
	}
	return names
}
