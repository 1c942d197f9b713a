package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// setSpec says what a made set is like.
type setSpec struct {
	fixtures int
	// exchanges is how many times the user asks and the assistant answers before the
	// compaction, and bytes about how long the transcript is.
	exchanges, bytes int
	// asks is how many times the user asks after the compaction; 0 is once.
	asks int
	seed uint64
}

// calls are the requests that the set makes under the reference and one compactor.
func (s setSpec) calls() int { return 2 * s.fixtures * max(1, s.asks) }

func (s setSpec) String() string {
	size := fmt.Sprintf("%d x %d KB", s.fixtures, (s.bytes+1023)/1024)
	if s.asks > 1 {
		size += fmt.Sprintf(", %d calls an episode", s.asks)
	}
	return size
}

// vocabulary is what transcripts are made of. Their words are none of anybody's.
const vocabulary = "the table is locked by a job that runs every night and reads rows of last week first before it writes them into another file for the team that asked"

func words(random *rand.Rand, bytes int) string {
	list := strings.Fields(vocabulary)
	var b strings.Builder
	for b.Len() < bytes {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(list[random.IntN(len(list))])
	}
	return b.String()
}

// makeSet writes a set of fixtures with one compaction each, after which the user asks
// once more, or so often as is said. Under the reference and under a compactor the agent is
// asked each time.
func makeSet(dir string, spec setSpec) error {
	if err := os.MkdirAll(filepath.Join(dir, "recordings"), 0o755); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(spec.seed, 1))
	share := spec.bytes / (2 * spec.exchanges)
	for i := range spec.fixtures {
		if err := makeFixture(dir, fmt.Sprintf("talk-%05d", i), spec.exchanges, share, max(1, spec.asks), random); err != nil {
			return fmt.Errorf("making the set %s: %w", dir, err)
		}
	}
	hashes, err := fixtures.HashFiles(os.DirFS(dir))
	if err != nil {
		return err
	}
	data, err := (&fixtures.Manifest{Version: "1", Hashes: hashes}).MarshalIndented()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fixtures.ManifestFile), data, 0o644)
}

func makeFixture(dir, id string, exchanges, share, asks int, random *rand.Rand) error {
	rec := fixtures.Recording{Header: fixtures.Header{ID: id}}
	turn := 0
	say := func(role, text string) {
		turn++
		rec.Messages = append(rec.Messages, fixtures.Message{Turn: turn, Role: role, Content: text})
	}
	for i := range exchanges {
		say(fixtures.RoleUser, fmt.Sprintf("Step %d of %s: %s", i+1, id, words(random, share)))
		say(fixtures.RoleAssistant, words(random, share))
	}
	compacted := turn
	for i := range asks {
		if i > 0 {
			say(fixtures.RoleAssistant, "ok, it is not")
		}
		say(fixtures.RoleUser, "Is it done?")
	}
	f := fixtures.Fixture{
		ConversationID: id, Turns: turn, CompactionsExpected: 1, CompactAfter: []int{compacted}, MustSurvive: []fixtures.Item{},
		Checks: []fixtures.Check{{ID: "k1", Final: "text contains 'ok'"}},
	}
	data, err := fixtures.MarshalPlain(f)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, id+".json"), data, 0o644); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, "recordings", id+".jsonl"))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := fixtures.WriteRecording(out, &rec); err != nil {
		return err
	}
	return out.Close()
}
