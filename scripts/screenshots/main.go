// Command screenshots takes the pictures of the review page that the README shows. It
// plays the default night, serves its review to a headless Chromium, and writes PNG files
// beside itself:
//
//	go run ./scripts/screenshots
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

func main() {
	out := flag.String("out", filepath.Join("scripts", "screenshots"), "write the pictures into this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out string) (err error) {
	browser, err := chromium()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "screenshots")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	program := filepath.Join(work, "doubletake")
	if err := command(ctx, "go", "build", "-o", program, "./cmd/doubletake").Run(); err != nil {
		return fmt.Errorf("building doubletake: %w", err)
	}
	night := filepath.Join(work, "night")
	var exit *exec.ExitError
	if err := command(ctx, program, "nightly", "--out", night).Run(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return fmt.Errorf("playing the night: %w", err) // 1 is its verdict
	}
	if err := fixID(night); err != nil {
		return err
	}
	address, end, err := serve(ctx, program, night)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(browser), chromedp.NoSandbox)
	allocator, cancel := chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	page, cancel := chromedp.NewContext(allocator)
	defer cancel()
	page, cancel = context.WithTimeout(page, 5*time.Minute)
	defer cancel()
	return pictures(page, address, out)
}

// fixID gives a run the same id each time, from which follow the shuffle of the sides and
// what pairs are called: so the pictures change with the page alone.
func fixID(night string) error {
	path := filepath.Join(night, "run.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("fixing the run's id: %w", err)
	}
	var run map[string]json.RawMessage
	if err := json.Unmarshal(data, &run); err != nil {
		return fmt.Errorf("fixing the run's id: %s: %w", path, err)
	}
	run["id"] = json.RawMessage(`"screenshots"`)
	if data, err = json.Marshal(run); err != nil {
		return fmt.Errorf("fixing the run's id: %w", err)
	}
	return os.WriteFile(path, data, 0o644)
}

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// serve starts the review and returns its address, and what ends it.
func serve(ctx context.Context, program, night string) (address string, end func() error, err error) {
	server := command(ctx, program, "review", night, "--no-browser", "--as", "maria")
	stdout, err := server.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := server.Start(); err != nil {
		return "", nil, fmt.Errorf("serving the review: %w", err)
	}
	end = func() error {
		return errors.Join(server.Process.Signal(os.Interrupt), server.Wait())
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("serving the review: it printed no address: %w", err), end())
	}
	return strings.TrimSpace(line), end, nil
}

// pictures visits the page as a reviewer does.
func pictures(ctx context.Context, address, out string) error {
	shot := func(name string) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			png, err := chromedp.CaptureScreenshot()(ctx, t)
			if err != nil {
				return fmt.Errorf("taking %s: %w", name, err)
			}
			fmt.Println(filepath.Join(out, name), len(png), "bytes")
			return os.WriteFile(filepath.Join(out, name), png, 0o644)
		})
	}
	theme := func(value string) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}},
			})
			return err
		})
	}
	pair := func(id string) chromedp.Action[chromedp.Void] {
		return chromedp.Steps(
			// Before it is decided a pair does not say its name.
			chromedp.Evaluate[chromedp.Void](`document.getElementById("pair").replaceChildren(); location.hash = "#pair=`+id+`"; undefined`),
			until(`document.querySelector("#pair h2")`),
		)
	}
	decided := until(`document.querySelector(".told")?.textContent.startsWith("Saved")`)
	err := chromedp.Do(ctx,
		chromedp.EmulateViewport(1280, 900),
		theme("light"),
		chromedp.Navigate(address),
		until(`document.querySelector("#rows a")`),
		pair("wrong-database"),
		shot("pair.png"),
		chromedp.KeyEvent("l"), decided,
		until(`document.querySelector("#contexts .absent")`),
		chromedp.KeyEvent("v"),
		shot("context.png"),
		pair("hedge-hardened"),
		chromedp.KeyEvent("r"), decided,
		chromedp.KeyEvent("q"),
		until(`!document.getElementById("list").hidden && document.querySelector(".tag.mine")`),
		theme("dark"),
		shot("queue-dark.png"),
		chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile),
		pair("superseded-path"),
		shot("phone-dark.png"),
	)
	if err != nil {
		return fmt.Errorf("visiting the page: %w", err)
	}
	return nil
}

// until waits in the page until an expression holds there and what it stands for is
// painted.
func until(expression string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](`new Promise((done) => {
		const look = () => (`+expression+`) ? requestAnimationFrame(() => requestAnimationFrame(() => done())) : requestAnimationFrame(look);
		look();
	})`, chromedp.EvalAwaitPromise)
}

// chromium is the browser to take pictures with.
func chromium() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if named := os.Getenv("DOUBLETAKE_CHROMIUM"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("found none of %s: install Chromium, or name it in DOUBLETAKE_CHROMIUM", strings.Join(names, ", "))
}
