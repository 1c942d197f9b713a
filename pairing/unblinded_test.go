package pairing

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

func TestWhoSawTheArms(t *testing.T) {
	dir := t.TempDir()
	if lines, err := ReadUnblinded(dir); err != nil || len(lines) != 0 {
		t.Fatalf("before anybody saw them: %v, %v", lines, err)
	}
	at := time.Date(2026, 3, 20, 9, 30, 1, 999, time.FixedZone("", 3600))
	for _, u := range []Unblinded{
		{At: at, By: "maria", Pair: "a", How: UnblindedByShow},
		{At: at.Add(time.Hour), By: "maria", Pair: "a", How: UnblindedOnPage}, // knows it already
		{At: at, By: "maria", Pair: "b", How: UnblindedOnPage},
		{At: at, By: "jon", Pair: "a", How: UnblindedByShow},
	} {
		if err := u.Record(dir); err != nil {
			t.Fatal(err)
		}
	}
	lines, err := ReadUnblinded(dir)
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v: want 3", len(lines), err)
	}
	if want := time.Date(2026, 3, 20, 8, 30, 1, 0, time.UTC); lines[0].How != UnblindedByShow || !lines[0].At.Equal(want) || lines[2].By != "jon" {
		t.Errorf("recorded %+v", lines)
	}
	for _, bad := range []Unblinded{{Pair: "a"}, {By: " ", Pair: "a"}, {By: "maria"}} {
		if err := bad.Record(dir); err == nil {
			t.Errorf("%+v: want an error", bad)
		}
	}
	if err := (Unblinded{By: "maria", Pair: "a"}).Record(filepath.Join(dir, UnblindedFile)); err == nil {
		t.Error("a file in place of a run directory: want an error")
	}
}

// Several at once wait for each other, and none is lost.
func TestManySeeTheArmsAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	const people = 8
	for n := range people {
		wait.Go(func() {
			if err := (Unblinded{By: string(rune('a' + n)), Pair: "p", How: UnblindedOnPage}).Record(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if lines, err := ReadUnblinded(dir); err != nil || len(lines) != people {
		t.Errorf("%d lines, %v: want %d", len(lines), err, people)
	}
}

// A log that somebody keeps for themselves, or that is broken, is an error and not
// nobody's having seen anything.
func TestALogOfTheSeenThatWillNotDo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, UnblindedFile)
	log, _, err := fixtures.OpenLog[Unblinded](path)
	if err != nil {
		t.Fatal(err)
	}
	err = Unblinded{By: "maria", Pair: "a"}.Record(dir)
	if !errors.Is(err, fixtures.ErrLogInUse) || !strings.Contains(err.Error(), "maria saw the arms of a") {
		t.Errorf("while another has it: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{\"by\":\"maria\",\"pair\":\"a\"}\nnot JSON\n{\"by\":\"maria\",\"pair\":\"b\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadUnblinded(dir); err == nil || !strings.Contains(err.Error(), UnblindedFile) {
		t.Errorf("a broken line: %v", err)
	}
}
