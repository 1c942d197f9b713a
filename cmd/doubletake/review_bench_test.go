package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// manyDisagree writes a run directory with so many losses, each side of which made some
// calls with results of an ordinary length, and a verdict on each.
func manyDisagree(b *testing.B, dir, id string, pairs int) {
	b.Helper()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.MkdirAll(dir, 0o755))
	started := time.Date(2026, 11, 30, 2, 0, 0, 0, time.UTC)
	run := replay.Run{Version: replay.RunVersion, ID: id, Started: started, Plan: replay.Plan{Arms: []replay.ArmInfo{
		{Name: "reference", Role: "reference", Kind: replay.ReferenceArm}, {Name: "squeezer", Role: "candidate", Kind: replay.CompactorArm, Digest: "d1"},
	}}}
	must(replay.WriteJSON(filepath.Join(dir, replay.RunFile), run))
	record := &replay.Record{Run: run}
	result := strings.Repeat("a row of a table, ", 40)
	for i := range pairs {
		f := &fixtures.Fixture{ConversationID: fmt.Sprintf("talk-%05d", i), Checks: []fixtures.Check{{ID: "k1", Final: "text == 'ok'"}}}
		f.Hash = fixtures.HashBytes([]byte(f.ConversationID))
		record.Fixtures = append(record.Fixtures, f)
		for arm, says := range map[string]string{"reference": "ok", "squeezer": "no"} {
			e := &replay.Episode{Key: replay.Key{Fixture: f.Hash, Arm: arm}, ConversationID: f.ConversationID, Status: replay.Played, Fork: 1}
			for k := range 8 {
				call := &fixtures.ToolCall{ID: fmt.Sprint(k), Name: "read", Arguments: []byte(fmt.Sprintf(`{"row":%d}`, k))}
				e.Steps = append(e.Steps, replay.Step{Kind: replay.StepCall, Turn: 2 + k, Call: call, Result: result})
			}
			e.Steps = append(e.Steps, replay.Step{Kind: replay.StepText, Turn: 10, Text: says})
			record.Episodes = append(record.Episodes, e)
		}
	}
	var sealed []byte
	for _, f := range record.Fixtures {
		line, err := replay.SealLine(map[string]any{"hash": f.Hash, "fixture": f})
		must(err)
		sealed = append(sealed, line...)
	}
	must(os.WriteFile(filepath.Join(dir, replay.FixturesFile), sealed, 0o644))
	journal, err := replay.OpenJournal[*replay.Episode](filepath.Join(dir, replay.EpisodesFile))
	must(err)
	must(journal.Append(record.Episodes...))
	must(journal.Close())
	queue := pairing.Queue(record, pairing.Match(record, "reference", "squeezer").Pairs, nil, 1)
	must(pairing.WriteQueue(dir, queue))
	review, err := pairing.OpenReview(dir, record, queue, time.Now)
	must(err)
	for i := range queue {
		_, err := review.Decide(pairing.Verdict{By: "maria", Pair: queue[i].ID, Ruling: pairing.BothFine})
		must(err)
	}
	must(review.Close())
	must(pairing.WriteAssignment(dir, pairing.Assignment{Reviewers: []string{"maria", "jon"}}))
}

// BenchmarkReviewList lists ten thousand decided pairs; beside them lies an earlier night,
// with as many verdicts that are remembered.
func BenchmarkReviewList(b *testing.B) {
	root := b.TempDir()
	const pairs = 10_000
	manyDisagree(b, filepath.Join(root, "monday"), "1", pairs)
	dir := filepath.Join(root, "tuesday")
	manyDisagree(b, dir, "2", pairs)
	for name, args := range map[string][]string{
		"all":      {"review", "list", dir},
		"reviewer": {"review", "list", dir, "--as", "maria"},
		"stats":    {"review", "stats", dir},
		"next":     {"review", "next", dir, "--by", "jon"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var out, log bytes.Buffer
				if code := run(context.Background(), append([]string{"doubletake"}, args...), &out, &log); code != 0 {
					b.Fatalf("exit code %d: %s", code, log.String())
				}
			}
		})
	}
}
