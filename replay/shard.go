package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// MaxShards is into how many shards a set may be split.
const MaxShards = 1000

// Shard is one of the parts of a set that several machines play, each its own. The arms
// and replicates of a session group stay together.
type Shard struct {
	// Index counts from 1 to Of.
	Index int `json:"index"`
	Of    int `json:"of"`
	// Set lists the fixtures of the whole set, in its order.
	Set []Member `json:"set"`
	// Controls, Confirm and Rubric are what a plan leaves to the config, and what the
	// shards must agree on: how many controls of each kind the whole run plants, how often
	// discordant pairs are played again, and whether the rubric is asked for.
	Controls int  `json:"controls"`
	Confirm  int  `json:"confirm"`
	Rubric   bool `json:"rubric,omitempty"`
}

// Member is a fixture of the whole set with the shard that plays it.
type Member struct {
	Fixture fixtures.Hash `json:"fixture"`
	ID      string        `json:"conversation_id"`
	Shard   int           `json:"shard"`
}

// ParseShard reads I/N, such as 2/8 for the second of eight shards.
func ParseShard(text string) (index, of int, err error) {
	first, second, ok := strings.Cut(text, "/")
	index, errIndex := strconv.Atoi(strings.TrimSpace(first))
	of, errOf := strconv.Atoi(strings.TrimSpace(second))
	switch {
	case !ok || errIndex != nil || errOf != nil:
		return 0, 0, fmt.Errorf("shard %.40q: want I/N, such as 2/8 for the second of eight", text)
	case of < 1 || of > MaxShards:
		return 0, 0, fmt.Errorf("shard %.40q: a set is split into 1 to %d shards", text, MaxShards)
	case index < 1 || index > of:
		return 0, 0, fmt.Errorf("shard %.40q: shards are counted from 1 to %d", text, of)
	}
	return index, of, nil
}

// NewShard splits a set into shards and describes the shard index of them.
func NewShard(index, of int, set []*fixtures.Fixture) *Shard {
	s := &Shard{Index: index, Of: of}
	for _, f := range set {
		s.Set = append(s.Set, Member{f.Hash, f.ConversationID, shardOf(f.SessionGroup(), of)})
	}
	return s
}

// shardOf is the shard of a session group: the one with the highest lot. With one shard
// more, only the groups that go to it move, so that most stored answers stay where they
// are asked for.
func shardOf(group string, of int) int {
	best := 1
	high := fixtures.Lot(1, group)
	for i := 2; i <= of; i++ {
		if lot := fixtures.Lot(uint64(i), group); lot > high {
			best, high = i, lot
		}
	}
	return best
}

// Part is what the shard plays of the whole set.
func (s *Shard) Part(set []*fixtures.Fixture) []*fixtures.Fixture {
	var part []*fixtures.Fixture
	for _, m := range s.members(s.Index) {
		i := slices.IndexFunc(set, func(f *fixtures.Fixture) bool { return f.Hash == m.Fixture })
		if i >= 0 {
			part = append(part, set[i])
		}
	}
	return part
}

// members are the fixtures that one of the shards plays.
func (s *Shard) members(index int) []Member {
	var list []Member
	for _, m := range s.Set {
		if m.Shard == index {
			list = append(list, m)
		}
	}
	return list
}

// String names the shard.
func (s *Shard) String() string { return fmt.Sprintf("shard %d of %d", s.Index, s.Of) }

// shardDifference says in what two plans are parts of different wholes, or different
// parts; empty for the same part of the same whole, or two wholes.
func shardDifference(there, now *Shard) string {
	name := func(s *Shard) string {
		if s == nil {
			return "the whole set"
		}
		return s.String()
	}
	if there == nil || now == nil || there.Index != now.Index || there.Of != now.Of {
		if there == now {
			return ""
		}
		return fmt.Sprintf("%s there, %s now", name(there), name(now))
	}
	return wholeDifference(there, now)
}

// wholeDifference names the first part in which the wholes of two shards differ; empty
// where they are shards of one.
func wholeDifference(a, b *Shard) string {
	switch {
	case a.Of != b.Of:
		return fmt.Sprintf("%d shards there, %d here", a.Of, b.Of)
	case a.Controls != b.Controls:
		return fmt.Sprintf("judge.controls %d there, %d here", a.Controls, b.Controls)
	case a.Confirm != b.Confirm:
		return fmt.Sprintf("nightly.confirm %d there, %d here", a.Confirm, b.Confirm)
	case a.Rubric != b.Rubric:
		return fmt.Sprintf("--rubric %t there, %t here", a.Rubric, b.Rubric)
	case len(a.Set) != len(b.Set):
		return fmt.Sprintf("a set of %d fixtures there, of %d here", len(a.Set), len(b.Set))
	}
	for i := range a.Set {
		if a.Set[i] != b.Set[i] {
			return fmt.Sprintf("fixture %s (%s) there, %s (%s) here", a.Set[i].ID, a.Set[i].Fixture, b.Set[i].ID, b.Set[i].Fixture)
		}
	}
	return ""
}

// valid says what is wrong with a shard's description as a run directory has it.
func (s *Shard) valid() error {
	if s.Of < 1 || s.Of > MaxShards || s.Index < 1 || s.Index > s.Of {
		return fmt.Errorf("it calls itself shard %d of %d, which there can't be", s.Index, s.Of)
	}
	seen := map[fixtures.Hash]bool{}
	for _, m := range s.Set {
		if m.Shard < 1 || m.Shard > s.Of || seen[m.Fixture] {
			return fmt.Errorf("its list of the set is damaged at fixture %s", m.ID)
		}
		seen[m.Fixture] = true
	}
	return nil
}
