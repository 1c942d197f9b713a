package replay

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func stageOf(t *testing.T, f *fixtures.Fixture, rec *fixtures.Recording, s Settings) *staging {
	t.Helper()
	st, err := stage(f, rec, &s, bytesCounter{})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestCompactionPoints(t *testing.T) {
	ten := strings.Repeat("x", 10)
	long := recording("S "+ten, "U "+ten, "A "+ten, "U "+ten, "A "+ten, "U "+ten, "C a read", "R a "+ten, "A "+ten, "U "+ten, "A "+ten)
	recorded := recording("U 1", "A 2", "U 3", "A 4", "U 5")
	recorded.Compactions = []fixtures.Compaction{{AfterTurn: 0}, {AfterTurn: 2}, {AfterTurn: 2}, {AfterTurn: 4}}
	for _, c := range []struct {
		name    string
		fixture *fixtures.Fixture
		rec     *fixtures.Recording
		window  int
		trigger float64
		want    []int
	}{
		{"as the fixture says", fixtureOf("f", 1, 3), recorded, 1000, 0.8, []int{1, 3}},
		{"as recorded, each turn once", fixtureOf("f"), recorded, 1000, 0.8, []int{2, 4}},
		{"never below the trigger", fixtureOf("f"), long, 1000, 0.8, nil},
		// With turn 5 it is 60 tokens, compacted 30, and with turn 8 it is 60 again.
		{"where the trigger is passed", fixtureOf("f"), long, 60, 0.9, []int{5, 8}},
		{"again where it is passed again", fixtureOf("f"), long, 40, 0.9, []int{3, 5, 7}},
		{"at the end of a turn, not within", fixtureOf("f"), long, 80, 0.8, []int{6}},
		{"never after the last turn", fixtureOf("f"), recording("U 1", "A "+ten), 5, 1, nil},
		{"never without a trigger", fixtureOf("f"), long, 40, 0, nil},
		{"never without a window", fixtureOf("f"), long, 0, 0.8, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := settings()
			s.Window, s.Trigger = c.window, c.trigger
			if got := stageOf(t, c.fixture, c.rec, s).points; !slices.Equal(got, c.want) {
				t.Errorf("compaction points %v, want %v", got, c.want)
			}
		})
	}
}

func TestTheFixturesWindowComesFirst(t *testing.T) {
	f := fixtureOf("f")
	f.Window = 123
	if st := stageOf(t, f, recording("U 1"), settings()); st.window != 123 {
		t.Errorf("window %d", st.window)
	}
}

func TestFork(t *testing.T) {
	rec := recording("S s", "U 1", "A 2", "U 3", "C a read", "R a r", "A 5", "U 6", "A 7", "U 8")
	forked := func(turn int, points ...int) *fixtures.Fixture {
		f := fixtureOf("f", points...)
		f.Fork = fixtures.Fork(turn)
		return f
	}
	for _, c := range []struct {
		name      string
		fixture   *fixtures.Fixture
		fork      int
		prefix    string
		users     string
		userFirst bool
	}{
		{"after the last point", forked(0, 2, 5), 5, "user:1 | assistant:2 | user:3 | assistant:+a | tool:r@a | assistant:5", "user:6 | user:8", true},
		{"after the last point that leaves turns", forked(0, 2, 8), 2, "user:1 | assistant:2", "user:3 | user:6 | user:8", true},
		{"at the end where no point leaves turns", forked(0, 8), 8, "user:1 | assistant:2 | user:3 | assistant:+a | tool:r@a | assistant:5 | user:6 | assistant:7 | user:8", "", false},
		{"where the fixture says", forked(3, 2, 5), 3, "user:1 | assistant:2 | user:3", "user:6 | user:8", false},
		{"between call and text", forked(4, 2), 4, "user:1 | assistant:2 | user:3 | assistant:+a | tool:r@a", "user:6 | user:8", false},
		{"at the last message of the user where nothing is compacted", forked(0), 7, "user:1 | assistant:2 | user:3 | assistant:+a | tool:r@a | assistant:5 | user:6 | assistant:7", "user:8", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := stageOf(t, c.fixture, rec, settings())
			if st.fork != c.fork || st.userFirst != c.userFirst {
				t.Errorf("fork %d, user first %v; want %d, %v", st.fork, st.userFirst, c.fork, c.userFirst)
			}
			if got := contents(st.upTo(0, st.fork)); got != c.prefix {
				t.Errorf("prefix %s\nwant   %s", got, c.prefix)
			}
			if got := contents(st.users); got != c.users {
				t.Errorf("users %s, want %s", got, c.users)
			}
			if contents(st.system) != "system:s" {
				t.Errorf("system %s", contents(st.system))
			}
		})
	}
	t.Run("nobody but the assistant speaks", func(t *testing.T) {
		if st := stageOf(t, fixtureOf("f"), recording("A 1", "A 2"), settings()); st.fork != 2 || len(st.users) != 0 {
			t.Errorf("fork %d, users %v", st.fork, st.users)
		}
	})
	t.Run("an empty recording", func(t *testing.T) {
		if st := stageOf(t, fixtureOf("f"), recording(), settings()); st.fork != 0 || len(st.body) != 0 {
			t.Errorf("fork %d, body %v", st.fork, st.body)
		}
	})
}

func TestCallsWithoutResultsGetAFixedText(t *testing.T) {
	rec := recording("U 1", "C a read", "+C b read", "+C c read", "R b two", "U 3", "C d read")
	st := stageOf(t, fixtureOf("f", 2), rec, settings())
	want := "user:1 | assistant:+a+b+c | tool:two@b | tool:" + noResult + "@a | tool:" + noResult + "@c | user:3 | assistant:+d | tool:" + noResult + "@d"
	if got := contents(st.body); got != want {
		t.Errorf("body %s\nwant %s", got, want)
	}
	for _, m := range st.body {
		if m.Content == noResult && m.Turn != 2 && m.Turn != 4 {
			t.Errorf("the text stands in turn %d", m.Turn)
		}
	}
}

func TestNumberedMessagesKeepTheirIDs(t *testing.T) {
	st := stageOf(t, fixtureOf("f", 2), recording("S s", "U 1", "A 2", "U 3", "A 4"), settings())
	var ids []string
	for _, part := range [][]CompactMessage{st.numbered(0, 2), st.numbered(2, 3), st.numbered(3, 4), st.numbered(4, 9)} {
		for _, m := range part {
			ids = append(ids, m.ID)
		}
	}
	if !slices.Equal(ids, []string{"m1", "m2", "m3", "m4"}) {
		t.Errorf("ids %v", ids)
	}
}

func TestReferenceFitsWithRoomToGoOn(t *testing.T) {
	rec := recording("S "+strings.Repeat("s", 45), "U "+strings.Repeat("u", 50), "A ok", "U next")
	f := fixtureOf("f", 1)
	for window, want := range map[int]bool{0: true, 94: false, 95: false, 98: false, 99: true, 1000: true} {
		s := settings()
		s.Window = window
		if st := stageOf(t, f, rec, s); st.tokens != 95 || st.fits() != want {
			t.Errorf("window %d: %d tokens fit: %v, want %v", window, st.tokens, st.fits(), want)
		}
	}
}

func TestThePrefixHashIsOfThePrefixAlone(t *testing.T) {
	f := fixtureOf("f", 2)
	hash := func(lines ...string) fixtures.Hash { return stageOf(t, f, recording(lines...), settings()).hash }
	base := hash("S s", "U 1", "A 2", "U 3")
	if base != hash("S s", "U 1", "A 2", "U other") {
		t.Error("what stands after the fork changes the prefix hash")
	}
	for _, other := range []fixtures.Hash{hash("S t", "U 1", "A 2", "U 3"), hash("S s", "U 1x", "A 2", "U 3"), hash("U 1", "A 2", "U 3")} {
		if other == base {
			t.Error("another prefix has the same hash")
		}
	}
}

// The turns of a recording fall apart into stretches without loss or overlap.
func TestStretchesCoverTheBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := []string{}
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"U", "A", "C"}), 0, 12).Draw(t, "kinds") {
			lines = append(lines, fmt.Sprintf("%s %d read", kind, i))
		}
		rec := recording(lines...)
		st := &staging{body: answerCalls(rec.Messages)}
		a := rapid.IntRange(0, 14).Draw(t, "a")
		b := rapid.IntRange(a, 15).Draw(t, "b")
		joined := slices.Concat(st.upTo(0, a), st.upTo(a, b), st.upTo(b, 99))
		if contents(joined) != contents(st.body) {
			t.Fatalf("cut after %d and %d: %s\nwhole: %s", a, b, contents(joined), contents(st.body))
		}
		calls, results := 0, 0
		for _, m := range st.body {
			calls += len(m.ToolCalls)
			if m.Role == fixtures.RoleTool {
				results++
			}
		}
		if calls != results {
			t.Fatalf("%d calls, %d results", calls, results)
		}
	})
}
