package review

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// onDisk writes what a run leaves, so that it can be read as a command reads it.
func onDisk(t testing.TB, record *replay.Record, queue []pairing.Entry) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	seal := func(name string, count int, line func(i int) any) {
		t.Helper()
		var out bytes.Buffer
		for i := range count {
			data, err := replay.SealLine(line(i))
			must(err)
			out.Write(data)
		}
		must(os.WriteFile(filepath.Join(record.Dir, name), out.Bytes(), 0o644))
	}
	must(replay.WriteJSON(filepath.Join(record.Dir, replay.RunFile), record.Run))
	seal(replay.FixturesFile, len(record.Fixtures), func(i int) any {
		f := record.Fixtures[i]
		return map[string]any{"hash": f.Hash, "fixture": f}
	})
	seal(replay.EpisodesFile, len(record.Episodes), func(i int) any { return record.Episodes[i] })
	seal(replay.JudgementsFile, len(record.Judgements), func(i int) any { return record.Judgements[i] })
	must(pairing.WriteQueue(record.Dir, queue))
	return record.Dir
}

// start reads a run as doubletake review does, and prepares its page.
func start(t testing.TB, dir string) *Server {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	record, err := replay.ReadRecord(dir)
	must(err)
	queue, err := pairing.ReadQueue(dir)
	must(err)
	verdicts, err := pairing.ReadVerdicts(dir)
	must(err)
	standings := pairing.Stand(record, queue, verdicts)
	_, err = pairing.Remember(record, queue, nil)
	must(err)
	open, err := pairing.OpenReview(dir, record, queue, time.Now)
	must(err)
	s, err := New(Options{Review: open, Standings: standings, Reviewers: []Reviewer{{"maria", testToken}}, Blind: true, Run: "night", Address: "127.0.0.1:80"})
	must(err)
	return s
}

// ask has the server answer a request of its first reviewer.
func (s *Server) ask(t testing.TB, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	r.AddCookie(&http.Cookie{Name: s.gate.cookie, Value: s.gate.sessions.begin(0)})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, w.Code, w.Body)
	}
	return w
}

const manyPairs = 10_000

// BenchmarkStart is from the files of a run with ten thousand discordant pairs to a page
// that answers.
func BenchmarkStart(b *testing.B) {
	record, queue := night(b, manyPairs)
	dir := onDisk(b, record, queue)
	for b.Loop() {
		s := start(b, dir)
		b.StopTimer()
		if err := s.options.Review.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkStartDecided is the same with a verdict on each pair.
func BenchmarkStartDecided(b *testing.B) {
	record, queue := night(b, manyPairs)
	dir := onDisk(b, record, queue)
	s := start(b, dir)
	for _, e := range queue {
		if _, err := s.options.Review.Decide(pairing.Verdict{By: "maria", Pair: e.ID, Ruling: pairing.BothFine, Blind: true}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.options.Review.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := start(b, dir)
		b.StopTimer()
		if err := s.options.Review.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkPage is what the first page of the list, the next pair and a pair take of a run
// with ten thousand pairs.
func BenchmarkPage(b *testing.B) {
	record, queue := night(b, manyPairs)
	s := start(b, onDisk(b, record, queue))
	defer s.options.Review.Close()
	for name, path := range map[string]string{"list": "/api/queue", "next": "/api/next?after=pair-09998", "pair": "/api/pair?pair=pair-05000", "find": "/api/queue?find=group-4999"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s.ask(b, path)
			}
		})
	}
}

// What is read back from the disk is the night that was served from memory.
func TestAPageOfWhatARunLeft(t *testing.T) {
	record, queue := night(t, 3)
	s := start(t, onDisk(t, record, queue))
	defer s.options.Review.Close()
	var q queueAnswer
	if err := json.Unmarshal(s.ask(t, "/api/queue").Body.Bytes(), &q); err != nil || q.Matching != 3 {
		t.Fatalf("%d pairs, %v", q.Matching, err)
	}
	var p pairAnswer
	if err := json.Unmarshal(s.ask(t, "/api/pair?pair=pair-00002").Body.Bytes(), &p); err != nil || len(p.Transcript) == 0 || p.Items[0].Class != fixtures.Constraint {
		t.Fatalf("%+v, %v", p, err)
	}
}
