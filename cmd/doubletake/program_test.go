package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildID(t *testing.T) {
	const commit = "8f14e45fceea167a5a36dedd4bea2543f1f4c2aa"
	set := func(pairs ...string) (list []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return list
	}
	clean := set("vcs.revision", commit, "vcs.modified", "false", "GOOS", "linux", "-ldflags", "-s")
	deps := []*debug.Module{{Path: "example.com/a", Version: "v1.0.0", Sum: "h1:a"}}
	base := buildID(&debug.BuildInfo{Settings: clean, Deps: deps})
	if !strings.HasPrefix(base, "commit "+commit) {
		t.Errorf("a commit without changes is %q", base)
	}
	for name, info := range map[string]*debug.BuildInfo{
		"nothing known":            nil,
		"no history":               {Main: debug.Module{Version: "(devel)"}, Deps: deps},
		"a changed tree":           {Main: debug.Module{Version: "v0.1.1-0.20260320+dirty"}, Settings: set("vcs.revision", commit, "vcs.modified", "true")},
		"changes are not known":    {Settings: set("vcs.revision", commit)},
		"a module out of a folder": {Settings: clean, Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "../a"}}}},
	} {
		if got := buildID(info); got != "" {
			t.Errorf("%s: %q, which says nothing for sure", name, got)
		}
	}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		same bool
	}{
		"another platform":  {&debug.BuildInfo{Settings: set("vcs.revision", commit, "vcs.modified", "false", "GOOS", "darwin"), Deps: deps}, true},
		"another commit":    {&debug.BuildInfo{Settings: set("vcs.revision", strings.Repeat("0", 40), "vcs.modified", "false"), Deps: deps}, false},
		"other modules":     {&debug.BuildInfo{Settings: clean, Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.0.1", Sum: "h1:b"}}}, false},
		"other tags":        {&debug.BuildInfo{Settings: append(set("-tags", "special"), clean...), Deps: deps}, false},
		"a replaced module": {&debug.BuildInfo{Settings: clean, Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.0", Sum: "h1:c"}}}}, false},
		"a module":          {&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0", Sum: "h1:m"}, Deps: deps}, false},
	} {
		got := buildID(test.info)
		if got == "" || (got == base) != test.same {
			t.Errorf("%s: %q, want the same as %q: %t", name, got, base, test.same)
		}
	}
}

func TestSameProgram(t *testing.T) {
	for name, test := range map[string]struct {
		own, leader programID
		same        bool
	}{
		"one build":              {programID{Build: "commit a"}, programID{Build: "commit a"}, true},
		"two builds":             {programID{Build: "commit a"}, programID{Build: "commit b"}, false},
		"one executable":         {programID{Executable: "aa"}, programID{Executable: "aa"}, true},
		"two executables":        {programID{Executable: "aa"}, programID{Executable: "bb"}, false},
		"a changed tree leads":   {programID{Build: "commit a"}, programID{Executable: "aa"}, false},
		"a changed tree follows": {programID{Executable: "aa"}, programID{Build: "commit a"}, false},
		"an older one leads":     {programID{Executable: "aa"}, programID{}, false},
		"nothing is known":       {programID{}, programID{}, false},
	} {
		if err := test.own.same(test.leader); (err == nil) != test.same {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHashExecutable(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := hashExecutable(); err != nil || got != fmt.Sprintf("%x", sha256.Sum256(data)) {
		t.Errorf("%s, %v", got, err)
	}
}
