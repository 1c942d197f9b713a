package main

import (
	"runtime/debug"
	"testing"
)

func TestBuildText(t *testing.T) {
	const first = "doubletake version " + version + "\n"
	vcs := func(more ...debug.BuildSetting) []debug.BuildSetting {
		return append([]debug.BuildSetting{
			{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"},
			{Key: "vcs.revision", Value: "8f14e45fceea167a5a36dedd4bea2543f1f4c2aa"}, {Key: "vcs.time", Value: "2026-03-20T10:00:00Z"},
		}, more...)
	}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"nothing known": {nil, first},
		"a commit": {
			&debug.BuildInfo{GoVersion: "go1.26.0", Settings: vcs()},
			first + "commit 8f14e45fceea167a5a36dedd4bea2543f1f4c2aa\ndate 2026-03-20T10:00:00Z\nbuilt by go1.26.0 for linux/arm64\n",
		},
		"a changed tree": {
			&debug.BuildInfo{Settings: vcs(debug.BuildSetting{Key: "vcs.modified", Value: "true"})},
			first + "commit 8f14e45fceea167a5a36dedd4bea2543f1f4c2aa, and changes to it\ndate 2026-03-20T10:00:00Z\n",
		},
		"a module": {
			&debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}},
			first + "module v0.1.0\n",
		},
		"a build in a folder without a history": {
			&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			first,
		},
	} {
		if got := buildText(test.info); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
