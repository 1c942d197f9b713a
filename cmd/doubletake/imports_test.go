package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/doubletake-dev/doubletake/"

// importRules says which of our own packages each package may import. Data goes one
// way, recording to fixture to episodes to pairs to report, and imports the other.
var importRules = []struct {
	pkg    string // a package, or with /... it and all below
	allow  []string
	reason string
}{
	{"fixtures", nil, "fixtures stand on nothing of ours"},
	{"fixtures/...", []string{"fixtures"}, "what is beside the fixtures stands on them alone"},
	{"replay", []string{"fixtures", "replay/pack"}, "the engine knows small interfaces of its own"},
	{"replay/...", []string{"replay", "fixtures", "fixtures/recording", "fixtures/annotate", "fixtures/signals", "replay/responses"}, "implementations don't know each other, and share the form of a provider's items"},
	{"replay/pack", []string{"fixtures"}, "blobs in files need nothing of what they are of"},
	{"replay/model", []string{"replay", "fixtures", "replay/pack", "replay/responses"}, "the model clients know no other implementation"},
	{"replay/command", nil, "running a command needs nothing of ours"},
	{"replay/compact", []string{"replay", "fixtures", "fixtures/recording", "fixtures/annotate", "fixtures/signals", "replay/command", "replay/responses"}, "compactors don't know the other implementations"},
	{"replay/tools", []string{"replay", "fixtures", "replay/command"}, "tools don't know the other implementations"},
	{"replay/tools/server", []string{"replay", "fixtures", "replay/command", "replay/tools"}, "a server's client fills the place that the tools have for it"},
	{"replay/tools/toolstest", []string{"replay", "fixtures"}, "the conformance test knows the interface alone"},
	{"replay/compact/compacttest", []string{"replay", "fixtures", "replay/compact"}, "the conformance test knows the package it tests"},
	{"replay/trial", []string{"replay", "fixtures", "replay/compact", "replay/judge", "replay/model", "replay/offline", "replay/tools"}, "a trial puts the engine and what it talks to together, and knows no pairs"},
	{"replay/executortest", []string{"replay", "fixtures"}, "the conformance test knows the interface alone"},
	{"pairing", []string{"replay", "fixtures"}, "pairing is a pure function of recorded episodes"},
	{"pairing/review", []string{"pairing", "replay", "fixtures", "fixtures/annotate"}, "the page reads what a run left, and puts an annotation's steps before a person"},
	{"pairing/labelling", []string{"pairing", "replay", "fixtures"}, "cases to label are made from what a run left"},
	{"analysis/stats", nil, "numbers in, numbers out"},
	{"analysis/agreement", []string{"analysis/stats"}, "labels in, numbers out"},
	{"analysis/labels", []string{"analysis/agreement", "analysis/stats", "pairing/labelling"}, "labels of a run in, their report out"},
	{"analysis/plot", []string{"analysis/stats"}, "plots draw what the statistics compute"},
	{"analysis", []string{"analysis/stats", "pairing", "replay", "fixtures"}, "analysis is a pure function of recorded episodes"},
	{"analysis/report", []string{"analysis", "pairing", "replay", "fixtures"}, "reports print what analysis found"},
	{"analysis/history", []string{"analysis", "analysis/plot", "analysis/report", "pairing", "replay", "fixtures"}, "a history reads and prints what analysis found in several runs"},
	{"analysis/story", []string{"analysis", "analysis/report", "pairing", "replay", "fixtures"}, "a story tells what analysis found of one pair"},
	{"analysis/outcomes", []string{"analysis", "analysis/report", "pairing", "replay", "fixtures"}, "outcomes of others are paired and tested as those of a night are"},
}

// foreignRules says where a library may be imported, tests aside.
var foreignRules = []struct {
	library string
	in      []string // packages
	files   int      // at most so many files; 0 for any number
}{
	{"github.com/sashabaranov/go-openai", []string{"replay/model"}, 1},
	{"github.com/anthropics/anthropic-sdk-go", []string{"replay/model"}, 1},
	{"github.com/urfave/cli/v2", []string{"cmd/doubletake"}, 0},
	// The models' client, the embedded provider, compactors and MCP servers that answer by HTTP, the
	// page, and the benchmarks' mock server.
	{"net/http", []string{"replay/model", "replay/offline", "replay/compact", "pairing/review", "replay/tools/server", "scripts/bench"}, 0},
	{"github.com/nats-io/nats-server/v2/server", []string{"replay/cluster/clustertest/natsservers"}, 1},
	{"github.com/nats-io/nats.go", []string{"replay/cluster"}, 0},
	{"github.com/nats-io/nats.go/jetstream", []string{"replay/cluster"}, 0},
	{"github.com/modelcontextprotocol/go-sdk/mcp", []string{"replay/tools/server"}, 0},
}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
	imports := ownImports(t, root)
	for pkg, files := range imports {
		rule := ruleFor(pkg)
		if rule < 0 {
			if !strings.HasPrefix(pkg, "cmd/") && !strings.HasPrefix(pkg, "scripts") {
				t.Errorf("no rule says what %s may import", pkg)
			}
			continue
		}
		for file, list := range files {
			for _, imported := range list {
				own, ours := strings.CutPrefix(imported, module)
				if ours && !slices.Contains(importRules[rule].allow, own) {
					t.Errorf("%s imports %s: %s", file, own, importRules[rule].reason)
				}
			}
		}
	}
	for _, rule := range foreignRules {
		count := 0
		for pkg, files := range imports {
			for file, list := range files {
				if !slices.Contains(list, rule.library) {
					continue
				}
				count++
				if !slices.Contains(rule.in, pkg) {
					t.Errorf("%s imports %s: only %v may", file, rule.library, rule.in)
				}
			}
		}
		if rule.files > 0 && count > rule.files {
			t.Errorf("%s is imported by %d files: want %d", rule.library, count, rule.files)
		}
	}
}

// ruleFor is the most exact rule for a package, or -1.
func ruleFor(pkg string) int {
	best := -1
	for i, rule := range importRules {
		below, tree := strings.CutSuffix(rule.pkg, "/...")
		switch {
		case rule.pkg == pkg:
			return i
		case tree && strings.HasPrefix(pkg, below+"/"):
			best = i
		}
	}
	return best
}

// ownImports lists what the non-test files of each package import, by package and file.
func ownImports(t *testing.T, root string) map[string]map[string][]string {
	t.Helper()
	out := map[string]map[string][]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if entry.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg := path.Dir(name)
		if out[pkg] == nil {
			out[pkg] = map[string][]string{}
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			out[pkg][name] = append(out[pkg][name], imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
