package replay

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestParseShard(t *testing.T) {
	for _, tt := range []struct {
		text      string
		index, of int
		err       string
	}{
		{"1/1", 1, 1, ""},
		{"2/8", 2, 8, ""},
		{" 8 / 8 ", 8, 8, ""},
		{"1000/1000", 1000, 1000, ""},
		{"", 0, 0, "want I/N"},
		{"2", 0, 0, "want I/N"},
		{"2/", 0, 0, "want I/N"},
		{"a/b", 0, 0, "want I/N"},
		{"1/2/3", 0, 0, "want I/N"},
		{"0/8", 0, 0, "counted from 1 to 8"},
		{"9/8", 0, 0, "counted from 1 to 8"},
		{"-1/8", 0, 0, "counted from 1 to 8"},
		{"1/0", 0, 0, "1 to 1000 shards"},
		{"1/1001", 0, 0, "1 to 1000 shards"},
	} {
		index, of, err := ParseShard(tt.text)
		if index != tt.index || of != tt.of || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("ParseShard(%q) = %d, %d, %v", tt.text, index, of, err)
		}
	}
}

func FuzzParseShard(f *testing.F) {
	for _, seed := range []string{"1/1", "2/8", "0/0", "/", "9999999999999999999/2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		index, of, err := ParseShard(text)
		if err == nil && (index < 1 || index > of || of > MaxShards) {
			t.Errorf("%q is shard %d of %d", text, index, of)
		}
	})
}

// setOf draws a set of fixtures in groups.
func setOf(t *rapid.T) []*fixtures.Fixture {
	groups := rapid.SliceOfN(rapid.IntRange(0, 12), 0, 40).Draw(t, "groups")
	var set []*fixtures.Fixture
	for i, g := range groups {
		f := fixtureOf(fmt.Sprintf("f%d", i), 2)
		f.Group = fmt.Sprintf("g%d", g)
		set = append(set, f)
	}
	return set
}

// TestShardsAreAPartitionByGroup: every fixture falls to one shard, in the set's order, all
// of a group to the same one, whatever else is in the set.
func TestShardsAreAPartitionByGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := setOf(t)
		of := rapid.IntRange(1, 9).Draw(t, "of")
		place := map[fixtures.Hash]int{}
		group := map[string]int{}
		for index := 1; index <= of; index++ {
			last := -1
			for _, f := range NewShard(index, of, set).Part(set) {
				if place[f.Hash] != 0 {
					t.Fatalf("%s is in shards %d and %d", f.ConversationID, place[f.Hash], index)
				}
				place[f.Hash] = index
				if g := group[f.Group]; g != 0 && g != index {
					t.Fatalf("%s is in shards %d and %d", f.Group, g, index)
				}
				group[f.Group] = index
				at := 0
				for set[at] != f {
					at++
				}
				if at <= last {
					t.Fatalf("%s is out of order", f.ConversationID)
				}
				last = at
			}
		}
		if len(place) != len(set) {
			t.Fatalf("%d of %d fixtures are in a shard", len(place), len(set))
		}
		if len(set) > 0 { // the rest of the set moves nothing
			f := set[rapid.IntRange(0, len(set)-1).Draw(t, "alone")]
			if got := NewShard(1, of, []*fixtures.Fixture{f}).Set[0].Shard; got != place[f.Hash] {
				t.Fatalf("%s is in shard %d, and alone in %d", f.ConversationID, place[f.Hash], got)
			}
		}
	})
}

// TestOneShardMoreMovesOnlyToIt: with another number of shards a group stays where it is
// or goes to the shard that is new.
func TestOneShardMoreMovesOnlyToIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		group := rapid.String().Draw(t, "group")
		of := rapid.IntRange(1, 40).Draw(t, "of")
		if before, after := shardOf(group, of), shardOf(group, of+1); after != before && after != of+1 {
			t.Fatalf("%q moves from shard %d of %d to %d of %d", group, before, of, after, of+1)
		}
	})
}

func TestShardsAreOfLikeSize(t *testing.T) {
	const groups, of = 4000, 8
	counts := make([]int, of+1)
	for i := range groups {
		counts[shardOf(fmt.Sprintf("session-%d", i), of)]++
	}
	for index := 1; index <= of; index++ {
		// 500 on average, with a standard deviation of 21: five of them.
		if n := counts[index]; n < 395 || n > 605 {
			t.Errorf("shard %d has %d of %d groups", index, n, groups)
		}
	}
}

func TestARunOfAnotherShardIsRefused(t *testing.T) {
	set := []*fixtures.Fixture{fixtureOf("a", 2), fixtureOf("b", 2)}
	arms := []Arm{reference()}
	plan := func(shard *Shard) Plan {
		p := planOf(set, arms)
		p.Shard = shard
		return p
	}
	with := func(change func(*Shard)) *Shard {
		s := NewShard(1, 2, set)
		change(s)
		return s
	}
	for want, shard := range map[string]*Shard{
		"shard 1 of 2 there, the whole set now": nil,
		"shard 1 of 2 there, shard 2 of 2 now":  NewShard(2, 2, set),
		"shard 1 of 2 there, shard 1 of 3 now":  NewShard(1, 3, set),
		"judge.controls 0 there, 3 here":        with(func(s *Shard) { s.Controls = 3 }),
		"nightly.confirm 0 there, 2 here":       with(func(s *Shard) { s.Confirm = 2 }),
		"--rubric false there, true here":       with(func(s *Shard) { s.Rubric = true }),
		"a set of 2 fixtures there, of 1 here":  NewShard(1, 2, set[:1]),
		"fixture a (" + string(set[0].Hash):     NewShard(1, 2, []*fixtures.Fixture{set[1], set[0]}),
	} {
		dir := t.TempDir()
		part := NewShard(1, 2, set).Part(set)
		folder, err := OpenFolder(dir, plan(NewShard(1, 2, set)), part, testTime)
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, folder)
		_, err = OpenFolder(dir, plan(shard), part, testTime)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, have %v", want, err)
		}
		folder, err = OpenFolder(dir, plan(NewShard(1, 2, set)), part, testTime)
		if err != nil {
			t.Fatal(err)
		}
		mustClose(t, folder)
	}
}
