package replay

import (
	"cmp"
	"slices"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Session is the fixtures of one session group: all that is not independent of each
// other.
type Session struct {
	Group    string
	Fixtures []*fixtures.Fixture
	// MustPass says that one of the fixtures must pass.
	MustPass bool
}

// Sessions lists the session groups of a set in the order in which they are played:
// those with a fixture that must pass first, and the rest in a random order that
// depends on the seed and on the names of the groups alone. Evidence that is looked at
// while it comes in must come in an order that nobody chose.
func Sessions(set []*fixtures.Fixture, seed int) []Session {
	at := map[string]int{}
	var list []Session
	for _, f := range set {
		group := f.SessionGroup()
		i, ok := at[group]
		if !ok {
			i = len(list)
			at[group] = i
			list = append(list, Session{Group: group})
		}
		list[i].Fixtures = append(list[i].Fixtures, f)
		list[i].MustPass = list[i].MustPass || f.MustPass
	}
	slices.SortStableFunc(list, func(a, b Session) int {
		if a.MustPass != b.MustPass {
			if a.MustPass {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(fixtures.Lot(uint64(seed), a.Group), fixtures.Lot(uint64(seed), b.Group)), cmp.Compare(a.Group, b.Group))
	})
	return list
}
