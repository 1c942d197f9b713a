package offline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Script is what the offline agent does after the fork of one fixture.
type Script struct {
	// Fixture is the conversation_id of the fixture.
	Fixture string       `json:"fixture"`
	Turns   []ScriptTurn `json:"turns"`

	// Path is the file that the script came from.
	Path string `json:"-"`
}

// ScriptTurn is what the agent does about one user message.
type ScriptTurn struct {
	// User is the exact text of the message; space around it does not count.
	User  string `json:"user"`
	Steps []Step `json:"steps"`
}

// Step is one thing that the agent does where all its conditions hold. Exactly one
// of Call and Say is set. The conditions are about what the agent saw before the
// first scripted user message of its fixture.
type Step struct {
	// When holds where every listed item is supported.
	When []string `json:"when,omitempty"`
	// Unless holds where at least one listed item is absent or turned around.
	Unless []string `json:"unless,omitempty"`
	// Absent holds where at least one listed item is absent.
	Absent []string `json:"absent,omitempty"`
	// Inverted holds where at least one listed item is turned around.
	Inverted []string `json:"inverted,omitempty"`
	// Seen and Unseen hold where the text stands, or does not stand, in a message or
	// in the arguments of a call, whatever the case.
	Seen   string `json:"seen,omitempty"`
	Unseen string `json:"unseen,omitempty"`

	Call *ScriptCall `json:"call,omitempty"`
	Say  string      `json:"say,omitempty"`
}

// ScriptCall is a call that the agent makes.
type ScriptCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// ParseScript reads one script strictly: an unknown field, a step that both calls
// and says, arguments that are no object are errors that say where. name is what
// the errors call the input.
func ParseScript(data []byte, name string) (*Script, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var s Script
	if err := dec.Decode(&s); err != nil {
		return nil, &fixtures.SyntaxError{File: name, Line: lineOf(data, err, dec.InputOffset()), Err: fmt.Errorf("script: %w", err)}
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, &fixtures.SyntaxError{File: name, Line: lineAt(data, dec.InputOffset()), Err: errors.New("script: more text follows the JSON object")}
	}
	s.Path = name
	if err := s.validate(); err != nil {
		return nil, &fixtures.SyntaxError{File: name, Err: err}
	}
	return &s, nil
}

// lineOf is the line of a decoding error.
func lineOf(data []byte, err error, offset int64) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	return lineAt(data, offset)
}

func lineAt(data []byte, offset int64) int {
	offset = min(max(offset, 0), int64(len(data)))
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}

// validate checks what can be checked without the fixture.
func (s *Script) validate() error {
	if s.Fixture == "" {
		return errors.New(`"fixture" is missing: name the conversation_id that the script belongs to`)
	}
	if len(s.Turns) == 0 {
		return errors.New(`"turns" is empty: a script needs at least one user message to answer`)
	}
	for i, turn := range s.Turns {
		if strings.TrimSpace(turn.User) == "" {
			return fmt.Errorf(`turns[%d]: "user" is empty: give the exact text of a recorded user message after the fork`, i)
		}
		if len(turn.Steps) == 0 {
			return fmt.Errorf(`turns[%d]: "steps" is empty`, i)
		}
		for j := range turn.Steps {
			if err := turn.Steps[j].validate(); err != nil {
				return fmt.Errorf("turns[%d].steps[%d]: %w", i, j, err)
			}
		}
	}
	return nil
}

func (s *Step) validate() error {
	if (s.Call == nil) == (s.Say == "") {
		return errors.New(`want exactly one of "call" and "say"`)
	}
	if s.Call == nil {
		return nil
	}
	if s.Call.Name == "" {
		return errors.New(`call: "name" is empty`)
	}
	arguments := bytes.TrimSpace(s.Call.Arguments)
	if len(arguments) == 0 || arguments[0] != '{' {
		return fmt.Errorf(`call of %s: "arguments" must be a JSON object, {} for none`, s.Call.Name)
	}
	return nil
}

// items are the ids of the items that the step asks about.
func (s *Step) items() []string {
	return slices.Concat(s.When, s.Unless, s.Absent, s.Inverted)
}

// LoadScripts reads scripts/*.json and the fixtures at the top of a set. The
// fixtures are keyed by conversation_id. Neither folder has to exist; a script
// without its fixture, an item that the fixture lacks and a user text that two
// turns of the set share are errors.
func LoadScripts(fsys fs.FS) ([]Script, map[string]*fixtures.Fixture, error) {
	known, err := loadFixtures(fsys)
	if err != nil {
		return nil, nil, err
	}
	names, err := fs.Glob(fsys, "scripts/*.json")
	if err != nil {
		return nil, nil, fmt.Errorf("looking for the scripts of a set: %w", err)
	}
	var scripts []Script
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, nil, fmt.Errorf("reading a script: %w", err)
		}
		script, err := ParseScript(data, name)
		if err != nil {
			return nil, nil, err
		}
		scripts = append(scripts, *script)
	}
	if err := checkScripts(scripts, known); err != nil {
		return nil, nil, err
	}
	return scripts, known, nil
}

// loadFixtures reads the fixtures at the top of a set. Whether they tell the truth
// about their recordings is for the loader of sets to say.
func loadFixtures(fsys fs.FS) (map[string]*fixtures.Fixture, error) {
	names, err := fs.Glob(fsys, "*.json")
	if err != nil {
		return nil, fmt.Errorf("looking for the fixtures of a set: %w", err)
	}
	known := map[string]*fixtures.Fixture{}
	for _, name := range names {
		if path.Base(name) == "manifest.json" {
			continue
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("reading a fixture: %w", err)
		}
		var f fixtures.Fixture
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, &fixtures.SyntaxError{File: name, Line: lineOf(data, err, 0), Err: fmt.Errorf("fixture: %w", err)}
		}
		f.Path = name
		if f.ConversationID == "" {
			return nil, &fixtures.SyntaxError{File: name, Err: errors.New(`fixture: "conversation_id" is missing`)}
		}
		if other, twice := known[f.ConversationID]; twice {
			return nil, &fixtures.SyntaxError{File: name, Err: fmt.Errorf("fixture: conversation_id %q is the one of %s, too", f.ConversationID, other.Path)}
		}
		known[f.ConversationID] = &f
	}
	return known, nil
}

// checkScripts checks scripts against each other and against their fixtures.
func checkScripts(scripts []Script, known map[string]*fixtures.Fixture) error {
	owner := map[string]string{}     // fixture -> script
	turnOf := map[string][2]string{} // user text -> script and turn
	for _, s := range scripts {
		fail := func(format string, args ...any) error {
			return &fixtures.SyntaxError{File: s.Path, Err: fmt.Errorf(format, args...)}
		}
		fixture := known[s.Fixture]
		if fixture == nil {
			return fail("fixture %q is not in the set", s.Fixture)
		}
		if other, twice := owner[s.Fixture]; twice {
			return fail("fixture %q has another script, %s", s.Fixture, other)
		}
		owner[s.Fixture] = s.Path
		for i, turn := range s.Turns {
			user := strings.TrimSpace(turn.User)
			if other, twice := turnOf[user]; twice {
				return fail("turns[%d]: the user text stands in %s, %s, too: the agent could not tell which to follow; make it specific to its story", i, other[0], other[1])
			}
			turnOf[user] = [2]string{s.Path, fmt.Sprintf("turns[%d]", i)}
			for j := range turn.Steps {
				for _, id := range turn.Steps[j].items() {
					if fixture.Item(id) == nil {
						return fail("turns[%d].steps[%d]: item %q is not in must_survive of %s", i, j, id, fixture.Path)
					}
				}
			}
		}
	}
	return nil
}

// CheckRecordings checks that every scripted user text is a user message of its
// fixture's recording, which the agent would otherwise never get to see. It reads
// the recordings of the set, which [LoadScripts] does not.
func CheckRecordings(fsys fs.FS, scripts []Script, known map[string]*fixtures.Fixture) error {
	for _, s := range scripts {
		fixture := known[s.Fixture]
		if fixture == nil {
			return &fixtures.SyntaxError{File: s.Path, Err: fmt.Errorf("fixture %q is not in the set", s.Fixture)}
		}
		name := fixture.Recording
		if name == "" {
			name = "recordings/" + fixture.ConversationID + ".jsonl"
		}
		file, err := fsys.Open(name)
		if err != nil {
			return fmt.Errorf("reading the recording of %s: %w", s.Path, err)
		}
		rec, err := fixtures.ReadRecording(file, name)
		file.Close()
		if err != nil {
			return err
		}
		for i, turn := range s.Turns {
			if !slices.ContainsFunc(rec.Messages, func(m fixtures.Message) bool {
				return m.Role == fixtures.RoleUser && strings.TrimSpace(m.Content) == strings.TrimSpace(turn.User)
			}) {
				return &fixtures.SyntaxError{File: s.Path, Err: fmt.Errorf("turns[%d]: no user message of %s has the text %.60q", i, name, turn.User)}
			}
		}
	}
	return nil
}
