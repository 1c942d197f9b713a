package replay

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// MutantsFile is the file of a run directory that says how its arms were broken.
const MutantsFile = "mutants.json"

// MutationsVersion is the version of [MutantsFile].
const MutationsVersion = 1

// MutateCommand is the command of a run that asks whether a set would have caught a
// broken compactor.
const MutateCommand = "mutate"

// RoleBase is the role of the arm of a mutation run whose compactor the others break.
const RoleBase = "base"

// Mutant is one compaction of one fixture, broken in one known way or, where it is
// harmless, written in another way that changes nothing.
type Mutant struct {
	Fixture        fixtures.Hash `json:"fixture"`
	ConversationID string        `json:"conversation_id"`
	Kind           string        `json:"kind"`
	// Place is the id of the item that was broken, or where else.
	Place string `json:"place"`
	// Item and Class are of the broken item, empty where none in particular is.
	Item       string         `json:"item,omitempty"`
	Class      fixtures.Class `json:"class,omitempty"`
	Compaction int            `json:"compaction"` // from 0
	AfterTurn  int            `json:"after_turn"`
	Harmless   bool           `json:"harmless,omitempty"`
	// Change says in words what was done.
	Change string `json:"change"`
}

// Arm is the name of the arm under which the mutant is played.
func (m *Mutant) Arm() string { return m.Kind + " " + m.Place }

// NotMade counts the mutants of a kind that do not apply, for one reason.
type NotMade struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// MutantKind is a way to break a compaction, or to write it in another way.
type MutantKind struct {
	Kind     string `json:"kind"`
	Means    string `json:"means"`
	Harmless bool   `json:"harmless,omitempty"`
}

// Mutations are the mutants of a run.
type Mutations struct {
	Version int `json:"version"`
	// Compactor is the one whose output is broken.
	Compactor string `json:"compactor"`
	// Seed chose the sample of Sample mutants; 0 for all of them. Candidates is how many
	// there were to choose from, harmless ones included.
	Seed       int `json:"seed"`
	Sample     int `json:"sample,omitempty"`
	Candidates int `json:"candidates"`
	// Kinds are those that were to be made, in the order in which reports print them.
	Kinds   []MutantKind `json:"kinds"`
	Mutants []Mutant     `json:"mutants"`
	NotMade []NotMade    `json:"not_made"`
}

// Write writes the mutants into a run directory.
func (m *Mutations) Write(dir string) error {
	if err := WriteJSON(filepath.Join(dir, MutantsFile), m); err != nil {
		return fmt.Errorf("writing the mutants of the run: %w", err)
	}
	return nil
}

// ReadMutations reads the mutants of the run in dir.
func ReadMutations(dir string) (*Mutations, error) {
	path := filepath.Join(dir, MutantsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the mutants of a run: %w; is %s a run of fixtures mutate?", err, dir)
	}
	var m Mutations
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("reading the mutants of a run: %s: %w", path, err)
	}
	if m.Version < 1 || m.Version > MutationsVersion {
		return nil, fmt.Errorf("reading the mutants of a run: %s: version %d; this program reads 1 to %d", path, m.Version, MutationsVersion)
	}
	return &m, nil
}
