package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/pairing"
	"github.com/doubletake-dev/doubletake/replay"
)

// reviewServer is the program serving the page of a night, in a process of its own.
type reviewServer struct {
	t       *testing.T
	cmd     *exec.Cmd
	stderr  *bytes.Buffer
	base    string // of the address
	token   string
	browser *http.Client
}

// playedNight is the run directory of a default night of the dozen.
func playedNight(t *testing.T) string {
	t.Helper()
	night := filepath.Join(t.TempDir(), "night")
	cmd := doubletake(t, "nightly", "--out", night, "--cache", "off")
	cmd.Env = append(cmd.Env, "DOUBLETAKE_FIXTURE="+dozen)
	var exit *exec.ExitError
	if out, err := cmd.CombinedOutput(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exitBlocked) {
		t.Fatalf("nightly: %v\n%s", err, out)
	}
	return night
}

func serveNight(t *testing.T, night string) *reviewServer {
	t.Helper()
	s := &reviewServer{t: t, cmd: doubletake(t, "review", night, "--no-browser", "--as", "maria"), stderr: new(bytes.Buffer)}
	s.cmd.Stderr = s.stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has ended where the test went well
		_ = s.cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server printed no address: %v\n%s", err, s.stderr)
	}
	address, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	s.token, s.base = address.Query().Get("token"), "http://"+address.Host
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.browser = &http.Client{Jar: jar}
	response, err := s.browser.Get(address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !bytes.Contains(page, []byte(s.token)) {
		t.Fatalf("the page: status %d, %v\n%s", response.StatusCode, err, page)
	}
	return s
}

// decide asks for a verdict, and says whether it was acknowledged.
func (s *reviewServer) decide(pair string) bool {
	body := fmt.Sprintf(`{"pair":%q,"choice":"left_worse","seconds":4}`, pair)
	r, err := http.NewRequest(http.MethodPost, s.base+"/api/decide", strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", s.base)
	r.Header.Set("X-Doubletake-Token", s.token)
	response, err := s.browser.Do(r)
	if err != nil {
		return false // killed
	}
	defer response.Body.Close()
	_, err = io.ReadAll(response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}

// Whatever was acknowledged is there after SIGKILL, and at most what was under way then
// besides; the next server takes the run, and a second one beside it is refused.
func TestReviewSurvivesKill(t *testing.T) {
	night := playedNight(t)
	queue, err := pairing.ReadQueue(night)
	if err != nil || len(queue) < 8 {
		t.Fatalf("%d pairs, %v: want 8 at least", len(queue), err)
	}
	decided := map[string]bool{}
	for round, kill := range []int{3, 5} {
		s := serveNight(t, night)
		second, err := doubletake(t, "review", night, "--no-browser").CombinedOutput()
		if code := exitCode(err); code != exitUsage || !bytes.Contains(second, []byte("in use by another doubletake")) {
			t.Fatalf("a second server: exit %d\n%s", code, second)
		}
		started := make(chan struct{})
		acknowledged := make(chan string, len(queue))
		go func() {
			defer close(acknowledged)
			for i := range queue[round*4:] {
				if i == kill {
					close(started)
				}
				if pair := queue[round*4+i].ID; s.decide(pair) {
					acknowledged <- pair
				} else if i >= kill {
					return
				}
			}
		}()
		<-started
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait() // killed
		for pair := range acknowledged {
			decided[pair] = true
		}
		verdicts, err := pairing.ReadVerdicts(night)
		if err != nil {
			t.Fatal(err)
		}
		stands := map[string]bool{}
		for _, v := range verdicts {
			stands[v.Pair] = true
		}
		for pair := range decided {
			if !stands[pair] {
				t.Errorf("round %d: the verdict on %s was acknowledged and is lost", round, pair)
			}
		}
		if len(stands) > len(decided)+round+1 { // at most one under way a round
			t.Errorf("round %d: %d pairs in the log, %d acknowledged", round, len(stands), len(decided))
		}
	}
}

func TestReviewEndsCleanlyAndIsRemembered(t *testing.T) {
	night := playedNight(t)
	s := serveNight(t, night)
	queue, err := pairing.ReadQueue(night)
	if err != nil {
		t.Fatal(err)
	}
	if !s.decide(queue[0].ID) {
		t.Fatal("the verdict was not taken")
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v\n%s", err, s.stderr)
	}
	out, err := doubletake(t, "review", "list", night, "--open", "--only", "decided").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(queue[0].ID)) {
		t.Errorf("the list afterwards: %v\n%s", err, out)
	}
	// On another night beside it the same disagreement is known already.
	later := filepath.Join(filepath.Dir(night), "later")
	if err := os.CopyFS(later, os.DirFS(night)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(later, pairing.VerdictsFile)); err != nil {
		t.Fatal(err)
	}
	run, err := replay.ReadRun(later)
	if err != nil {
		t.Fatal(err)
	}
	run.ID += "-later" // a copy of the same night would be no other night
	if err := replay.WriteJSON(filepath.Join(later, replay.RunFile), run); err != nil {
		t.Fatal(err)
	}
	known := serveNight(t, later).get("/api/queue?state=remembered")
	if !strings.Contains(known, `"id":"`+pairing.Handle(run.ID, &queue[0])+`"`) || !strings.Contains(known, `"remembered":"night"`) || !strings.Contains(known, `"matching":1,`) {
		t.Errorf("remembered on the later night: %s", known)
	}
}

func (s *reviewServer) get(path string) string {
	s.t.Helper()
	response, err := s.browser.Get(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// Several reviewers at one server, each by the address that was printed for them.
func TestReviewForSeveral(t *testing.T) {
	night := playedNight(t)
	queue, err := pairing.ReadQueue(night)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := doubletake(t, "review", "assign", night, "ann", "ben", "--overlap", "0").CombinedOutput(); err != nil {
		t.Fatalf("assign: %v\n%s", err, out)
	}
	cmd := doubletake(t, "review", night, "--addr", "0.0.0.0:0", "--token", "a-secret-of-this-test")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended where the test went well
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(stdout)
	first := map[string]string{}
	for _, name := range []string{"ann", "ben"} {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		who, text, _ := strings.Cut(strings.TrimSpace(line), "\t")
		address, err := url.Parse(text)
		if err != nil || who != name || strings.Contains(text, "0.0.0.0") || strings.Contains(text, "secret") {
			t.Fatalf("the line of %s is %q: %v", name, line, err)
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &reviewServer{t: t, base: "http://" + address.Host, token: address.Query().Get("token"), browser: &http.Client{Jar: jar}}
		response, err := s.browser.Get(text)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		var next struct{ ID string }
		if err := json.Unmarshal([]byte(s.get("/api/next")), &next); err != nil {
			t.Fatal(err)
		}
		first[name] = next.ID
		if !s.decide(next.ID) {
			t.Errorf("the verdict of %s was not taken", name)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	verdicts, err := pairing.ReadVerdicts(night)
	if err != nil || len(verdicts) != 2 {
		t.Fatalf("%d verdicts, %v", len(verdicts), err)
	}
	assignment, err := pairing.ReadAssignment(night)
	if err != nil {
		t.Fatal(err)
	}
	run, err := replay.ReadRun(night)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	handles := map[string]string{}
	for i := range queue {
		ids = append(ids, queue[i].ID)
		handles[queue[i].ID] = pairing.Handle(run.ID, &queue[i])
	}
	for i, name := range []string{"ann", "ben"} {
		v := verdicts[i]
		if v.By != name || handles[v.Pair] != first[name] || !v.Blind || !slices.Equal(assignment.Of(ids)[v.Pair], []string{name}) {
			t.Errorf("%s: the line is %+v, assigned to %v", name, v, assignment.Of(ids)[v.Pair])
		}
	}
}
