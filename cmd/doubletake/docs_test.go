package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// docPage says what a page of the repository needs, beyond what stands in it.
type docPage struct {
	// home is a folder of testdata/docs: what its reader has at hand.
	home string
	// before are commands that the reader has run before.
	before []string
	// narrow are the fixtures that every night but the first that the page shows is played
	// over, so that the test does not play the whole set for each.
	narrow string
	// unplayed are commands and blocks of sh, by what they begin with, that can't be
	// run here, and why.
	unplayed map[string]string
}

var docsPages = map[string]docPage{
	"README.md": {
		home: "readme.txtar", narrow: "forbidden-directory,quiet-afternoon,superseded-path,wrong-database",
		before: []string{
			"doubletake nightly --out runs/monday", "doubletake nightly --out runs/tuesday", "cp -r runs/tuesday last-night",
			"doubletake init starter && cp starter/compact.py .",
		},
		unplayed: map[string]string{
			"go test ./...":                              "this test is part of it",
			"go run ./scripts/simulate":                  "it takes minutes",
			"doubletake compare ledger http://127.0.0.1": "the server is on the page of the compactors",
		},
	},
	"fixtures/README.md": {home: "readme.txtar"},
	"replay/cluster/README.md": {
		unplayed: map[string]string{"nats-server -js": "it needs a NATS server and a model; the same is tested with a server inside the test"},
	},
	"scripts/shims/README.md": {
		unplayed: map[string]string{
			"scripts/shims/setup": "it installs other projects' libraries from the network",
			"doubletake compare":  "it needs them, and a model",
			"DOUBLETAKE_SHIMS=":   "it installs them, too",
		},
	},
	"pairing/labelling/README.md": {
		unplayed: map[string]string{
			"def sha(text)": "it is a function for a program of the reader's; the digest itself is tested with the package",
		},
	},
}

// TestDocs runs what the pages of the repository show: every command of a console block,
// in a folder of the page's own, prints what follows it and ends with the exit code that
// its comment tells, 0 without one. Blocks that a line such as "`compact.py`:" precedes
// are written to files of that name first; configs are read by the program's own loader,
// fixtures and recordings by its own readers; lines of text blocks were printed by some
// command of the page; Go stands letter for letter in an example that is tested. What
// can't be run here, with a key, a network, Docker or a cluster, is fenced as sh and is
// listed above with the reason.
func TestDocs(t *testing.T) {
	inFull(t)
	if runtime.GOOS == "windows" {
		t.Skip("the pages are for a shell that Windows doesn't have")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 for the compactors of the pages")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir() // no answer is asked for twice, whoever needs it
	examples := goSources(t, root)
	pages := docPages(t, root)
	for name := range docsPages {
		if _, there := pages[name]; !there {
			t.Errorf("%s is listed, and there is no such page", name)
		}
	}
	for name, page := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &docReader{t: t, page: docsPages[name], cache: cache, examples: examples, ports: map[string]string{}, used: map[string]bool{}}
			r.read(page)
		})
	}
}

var (
	docLink    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	docHeading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocLinks follows the links between the pages and into the repository.
func TestDocLinks(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pages := docPages(t, root)
	for name, page := range pages {
		for _, link := range docLink.FindAllStringSubmatch(page, -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := name
			if target != "" {
				path = filepath.ToSlash(filepath.Join(filepath.Dir(name), target))
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err != nil {
					t.Errorf("%s: the link %s leads nowhere: %v", name, link[1], err)
				}
			}
			if anchor != "" && !slices.Contains(anchors(pages[path]), anchor) {
				t.Errorf("%s: %s has no heading for the link %s", name, path, link[1])
			}
		}
	}
}

// anchors are those that GitHub gives to the headings of a page.
func anchors(page string) []string {
	var list []string
	for _, m := range docHeading.FindAllStringSubmatch(page, -1) {
		list = append(list, strings.ReplaceAll(notAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return list
}

// docReader does what a page says.
type docReader struct {
	t        *testing.T
	page     docPage
	dir      string
	cache    string
	examples string
	ports    map[string]string // the page's, and the free ones that stand for them
	printed  strings.Builder   // all that was printed
	used     map[string]bool   // of unplayed
	lasting  []*exec.Cmd
	whole    bool // the page's first night is played, and was over the whole set
}

func (r *docReader) read(page string) {
	r.dir = r.t.TempDir()
	r.unpack()
	defer r.stop()
	blocks := docBlocks(page)
	if slices.ContainsFunc(blocks, func(b docBlock) bool { return b.language == "console" }) {
		for _, command := range r.page.before {
			r.run(docCommand{command: command, code: -1})
		}
	}
	for _, block := range blocks {
		r.block(block)
	}
	for _, block := range blocks {
		if block.language == "text" && block.file == "" {
			r.text(block)
		}
	}
	for begin := range r.page.unplayed {
		if !r.used[begin] {
			r.t.Errorf("the page no longer shows what is listed as not to be run: %q", begin)
		}
	}
}

// unpack puts down what the reader has at hand.
func (r *docReader) unpack() {
	if r.page.home == "" {
		return
	}
	archive, err := txtar.ParseFile(filepath.Join("testdata", "docs", r.page.home))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, file := range archive.Files {
		r.write(file.Name, string(file.Data))
	}
}

func (r *docReader) write(name, text string) {
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		r.t.Fatalf("the file %s is not in the page's folder", name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *docReader) block(b docBlock) {
	where := fmt.Sprintf("line %d", b.line)
	if b.file != "" {
		r.write(b.file, r.here(b.text))
	}
	switch b.language {
	case "console":
		for _, c := range b.commands() {
			if !r.listed(c.command) {
				r.run(c)
			}
		}
	case "sh":
		if b.file == "" && !r.listed(b.text) {
			r.t.Errorf("%s: a block of sh is not run: make it console, or list it with the reason", where)
		}
	case "yaml":
		if b.file != "" && filepath.Base(b.file) != configFile {
			return // what reads it stands in a console block
		}
		if _, err := parseConfig([]byte(b.text), where, r.dir); err != nil {
			r.t.Error(err)
		}
	case "json":
		if err := readsJSON(b.text, b.file != ""); err != nil {
			r.t.Errorf("%s: %v", where, err)
		}
	case "go":
		if !strings.Contains(r.examples, unindented(b.text)) {
			r.t.Errorf("%s: this stands in no _test.go letter for letter", where)
		}
	case "text", "": // looked at in the end, or no language's
	default:
		if b.file == "" && !r.listed(b.text) {
			r.t.Errorf("%s: a block of %s that is no file is read by nothing: name it in the line before, or list it with the reason", where, b.language)
		}
	}
}

// listed says whether the page's list has a reason not to run this.
func (r *docReader) listed(text string) bool {
	for begin := range r.page.unplayed {
		if strings.HasPrefix(text, begin) {
			r.used[begin] = true
			return true
		}
	}
	return false
}

var loopback = regexp.MustCompile(`127\.0\.0\.1:(\d{4,5})`)

// here puts free ports of this machine in the place of the page's.
func (r *docReader) here(text string) string {
	return loopback.ReplaceAllStringFunc(text, func(shown string) string {
		free, ok := r.ports[shown]
		if !ok {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				r.t.Fatal(err)
			}
			free = listener.Addr().String()
			_ = listener.Close()
			r.ports[shown] = free
		}
		return free
	})
}

// asShown is what was printed with the page's ports in the place of those of this machine.
func (r *docReader) asShown(printed string) string {
	for shown, free := range r.ports {
		printed = strings.ReplaceAll(printed, free, shown)
	}
	return strings.ReplaceAll(printed, r.dir, "~")
}

func (r *docReader) run(c docCommand) {
	command, _ := strings.CutPrefix(r.here(c.command), "go run ./cmd/")
	env := append(plainEnvironment(),
		"HOME="+r.dir, "DOUBLETAKE_CACHE_DIR="+r.cache, "XDG_CACHE_HOME="+r.cache,
		"OPENAI_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_API_KEY=", "NO_COLOR=1", "DOUBLETAKE_NO_BROWSER=true",
		"GITHUB_ACTIONS=", "GITHUB_STEP_SUMMARY=", "CI=", "USER=ann", "GIT_CONFIG_GLOBAL=/dev/null", "DOUBLETAKE_AS=ann")
	if r.page.narrow != "" && playsAnew.MatchString(command) && !strings.Contains(command, "--set") {
		if c.line == 0 || r.whole {
			env = append(env, "DOUBLETAKE_FIXTURE="+r.page.narrow)
		}
		r.whole = r.whole || c.line > 0
	}
	background, _ := strings.CutSuffix(strings.TrimSpace(strings.SplitN(command, " #", 2)[0]), " &")
	stays := strings.HasSuffix(strings.TrimSpace(strings.SplitN(command, " #", 2)[0]), " &")
	cmd := exec.Command("sh", "-c", command)
	if stays {
		cmd = exec.Command("sh", "-c", "exec "+background)
	} else if lasts.MatchString(command) {
		cmd = exec.Command("sh", "-c", "exec "+command)
	}
	cmd.Dir, cmd.Env = r.dir, env
	if stays || lasts.MatchString(command) {
		r.start(c, cmd, stays)
		return
	}
	var out, failed, both bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &both), io.MultiWriter(&failed, &both)
	began := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	code := 0
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		r.t.Fatalf("line %d: %s: %v", c.line, c.command, err)
	}
	printed := r.asShown(both.String())
	if testing.Verbose() {
		r.t.Logf("line %d, %s: $ %s\n%s", c.line, time.Since(began).Round(time.Millisecond), c.command, printed)
	}
	r.printed.WriteString(printed)
	if c.code >= 0 && code != c.code {
		r.t.Errorf("line %d: $ %s\nends with exit code %d, the page says %d:\n%s", c.line, c.command, code, c.code, shortened(printed))
		return
	}
	if len(strings.TrimSpace(strings.Join(c.printed, ""))) == 0 {
		return
	}
	for _, text := range []string{out.String(), both.String(), failed.String()} {
		if prints(c.printed, r.asShown(text)) {
			return
		}
	}
	r.t.Errorf("line %d: $ %s\nthe page says:\n%s\nit prints:\n%s", c.line, c.command, strings.Join(c.printed, "\n"), shortened(printed))
}

var (
	// playsAnew are commands that play a set, lasts those that serve until they are ended.
	playsAnew = regexp.MustCompile(`^doubletake (nightly|compare) `)
	lasts     = regexp.MustCompile(`^doubletake (review [a-z0-9-]+( *| +[#-].*)$|provider\b|.* --page\b)`)
)

// start starts what serves, and waits until it says where. What the page leaves in the
// background is ended with the page, everything else at once.
func (r *docReader) start(c docCommand, cmd *exec.Cmd, stays bool) {
	var out lockedBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		r.t.Fatalf("line %d: %s: %v", c.line, c.command, err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !strings.Contains(out.String(), "http://") {
		select {
		case <-tick.C:
			continue
		case <-ended:
		case <-late:
		}
		r.t.Errorf("line %d: $ %s\nserves nothing:\n%s", c.line, c.command, out.String())
		break
	}
	if testing.Verbose() {
		r.t.Logf("line %d: $ %s\n%s", c.line, c.command, out.String())
	}
	if stays {
		r.lasting = append(r.lasting, cmd)
		return
	}
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = cmd.Process.Kill()
		r.t.Errorf("line %d: $ %s\ndoes not end when it is interrupted", c.line, c.command)
	}
}

// stop ends what the page left in the background.
func (r *docReader) stop() {
	for _, cmd := range r.lasting {
		_ = cmd.Process.Kill()
	}
}

// text holds each line of a text block to what was printed.
func (r *docReader) text(b docBlock) {
	printed := map[string]bool{}
	for line := range strings.Lines(r.printed.String()) {
		printed[strings.TrimSpace(sameEverywhere(line))] = true
	}
	for line := range strings.Lines(b.text) {
		if line = strings.TrimSpace(sameEverywhere(line)); line != "" && line != "..." && !printed[line] {
			r.t.Errorf("line %d: the page shows a line that no command of it prints:\n%s", b.line, line)
		}
	}
}

// readsJSON reads a block of JSON as what it looks like: a fixture, a recording, or values.
func readsJSON(text string, file bool) error {
	if strings.HasPrefix(text, `{"type":"recording"`) {
		rec, err := fixtures.ReadRecording(strings.NewReader(text), "the block")
		if err != nil {
			return err
		}
		return rec.Verify()
	}
	if strings.Contains(text, `"conversation_id"`) && !file {
		f, err := fixtures.ParseFixture([]byte(text), "the block")
		if err != nil {
			return err
		}
		return f.Verify(nil)
	}
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		var value any
		if err := decoder.Decode(&value); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// goSources are the tests of the repository without their indentation, one after the other.
func goSources(t *testing.T, root string) string {
	t.Helper()
	var all strings.Builder
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		all.WriteString(unindented(string(data)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func unindented(code string) string {
	var out strings.Builder
	for line := range strings.Lines(code) {
		out.WriteString(strings.TrimSpace(line) + "\n")
	}
	return out.String()
}

// plainEnvironment is this process's, without what would set flags.
func plainEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DOUBLETAKE_") })
}

// shortened is the beginning of what was printed; go test -v has all of it.
func shortened(printed string) string {
	const most = 60
	lines := strings.SplitAfterN(printed, "\n", most+1)
	if len(lines) <= most {
		return printed
	}
	return strings.Join(lines[:most], "") + "... (go test -v prints the rest)\n"
}

// lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
