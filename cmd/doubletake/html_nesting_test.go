package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// misnested says what is wrong with how a page is put together: elements that are not
// closed where they are opened, ids that stand twice, and references to none.
func misnested(page string) error {
	page = regexp.MustCompile(`(?s)<(script|style)([^>]*)>.*?</(script|style)>`).ReplaceAllString(page, "<$1$2></$1>")
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.Entity = false, xml.HTMLEntity
	var open []string
	var faults []error
	ids, wanted := map[string]int{}, map[string]bool{}
	for {
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(append(faults, err)...)
		}
		line, _ := decoder.InputPos()
		switch token := token.(type) {
		case xml.StartElement:
			for _, a := range token.Attr {
				switch a.Name.Local {
				case "id":
					ids[a.Value]++
				case "for", "aria-labelledby", "aria-describedby", "aria-controls":
					for _, id := range strings.Fields(a.Value) {
						wanted[id] = true
					}
				case "href":
					if id, ok := strings.CutPrefix(a.Value, "#"); ok && id != "" {
						wanted[id] = true
					}
				}
			}
			if !slices.Contains(xml.HTMLAutoClose, token.Name.Local) && !slices.Contains([]string{"source", "wbr", "path"}, token.Name.Local) {
				open = append(open, token.Name.Local)
			}
		case xml.EndElement:
			if slices.Contains(xml.HTMLAutoClose, token.Name.Local) || slices.Contains([]string{"source", "wbr", "path"}, token.Name.Local) {
				continue // of <br/>
			}
			if len(open) == 0 || open[len(open)-1] != token.Name.Local {
				return fmt.Errorf("line %d: </%s> in %v", line, token.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		faults = append(faults, fmt.Errorf("not closed: %v", open))
	}
	for id, n := range ids {
		if n > 1 {
			faults = append(faults, fmt.Errorf("id %q stands %d times", id, n))
		}
	}
	for id := range wanted {
		if ids[id] == 0 {
			faults = append(faults, fmt.Errorf("no id %q, which is referred to", id))
		}
	}
	return errors.Join(faults...)
}

func TestMisnested(t *testing.T) {
	for page, says := range map[string]string{
		`<!DOCTYPE html><p id="a">1 &lt; 2<br><img src="x" alt=""></p><a href="#a">a</a><input disabled><script>if (1<2) "</p>"</script>`: "",
		"<p><b></p></b>":               "</p> in [p b]",
		"<p>":                          "not closed",
		`<p id="a"></p><p id="a"></p>`: "2 times",
		`<p aria-labelledby="b"></p>`:  `no id "b"`,
	} {
		err := misnested(page)
		if (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", page, err, says)
		}
	}
}

// The pages are put together well, whatever stands in what they show; scripts/validate
// holds them to a validator.
func TestPagesAreNested(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := doubletake(t, args...)
		cmd.Dir = dir
		var exit *exec.ExitError
		if out, err := cmd.CombinedOutput(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitBlocked) {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run("nightly", "--out", "runs/night", "--fixture", "forbidden-directory", "--fixture", "hedge-hardened", "--fixture", "wrong-database")
	run("review", "decide", "runs/night", "1", "both_fine", "--by", "<b>ann", "--note", "</p><script>a && b")
	run("report", "runs/night", "-o", "report.html")
	run("history", "runs", "-o", "history.html")
	for _, name := range []string{"report.html", "history.html"} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := misnested(string(page)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	page := servedPage(t, filepath.Join(dir, "runs", "night"))
	if err := misnested(page); err != nil {
		t.Errorf("the review page: %v", err)
	}
}

// servedPage is the review page of a run as it is served.
func servedPage(t *testing.T, run string) string {
	t.Helper()
	cmd := doubletake(t, "review", run, "--no-browser", "--addr", "127.0.0.1:0", "--token", "a-token-of-the-test")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var address string
	if _, err := fmt.Fscanln(out, &address); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	cookies, err := cookiejar.New(nil) // the token becomes one
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Jar: cookies}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status, err)
	}
	return string(page)
}
