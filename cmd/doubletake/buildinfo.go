package main

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// buildText says which program this is: the version, then the commit that it was built
// from with the date of that commit, as far as the build knows them. A build from a tree
// with changes of its own says so; one from a module names the module's version instead
// of a commit.
func buildText(info *debug.BuildInfo) string {
	text := "doubletake version " + version
	if info == nil {
		return text + "\n"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	var known []string
	switch commit := settings["vcs.revision"]; {
	case commit != "" && settings["vcs.modified"] == "true":
		known = append(known, fmt.Sprintf("commit %s, and changes to it", commit))
	case commit != "":
		known = append(known, "commit "+commit)
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		known = append(known, "module "+info.Main.Version)
	}
	if date := settings["vcs.time"]; date != "" {
		known = append(known, "date "+date)
	}
	if info.GoVersion != "" {
		known = append(known, fmt.Sprintf("built by %s for %s/%s", info.GoVersion, settings["GOOS"], settings["GOARCH"]))
	}
	for _, k := range known {
		text += "\n" + k
	}
	return strings.TrimSpace(text) + "\n"
}
