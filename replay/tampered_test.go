package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// TestAChangedFixtureInARunIsRefused: the run's copy of its fixtures is evidence.
func TestAChangedFixtureInARunIsRefused(t *testing.T) {
	dir := t.TempDir()
	f := &fixtures.Fixture{ConversationID: "a", Hash: "00000000000000aa", MustSurvive: []fixtures.Item{{ID: "c1", Literal: "never straight to the buyer"}}}
	folder, err := OpenFolder(dir, Plan{Fixtures: 1}, []*fixtures.Fixture{f}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FixturesFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), "never", "nevgr", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadRecord(dir); err == nil || !strings.Contains(err.Error(), "fixtures.jsonl:1") {
		t.Errorf("error %v, want one with file and line", err)
	}
}
