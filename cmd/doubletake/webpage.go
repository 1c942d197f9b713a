package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/doubletake-dev/doubletake/analysis/report"
	"github.com/doubletake-dev/doubletake/pairing/review"
)

// pageFlags are the flags of commands that serve a page.
func pageFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "addr", Usage: "listen on `HOST:PORT`; port 0 takes a free one", Value: "127.0.0.1:0", EnvVars: twin("addr")},
		&cli.BoolFlag{Name: "no-browser", Usage: "print the address and open no browser", EnvVars: twin("no-browser")},
		stringFlag("token", "what a browser must show, a `TEXT` of 16 letters and digits or more; needed to listen beyond this machine, over plain http; default: a random one"),
	}
}

// pageToken is the token that a browser must show: as chosen, else a random one, which
// will do for this machine alone.
func pageToken(c *cli.Context) (string, error) {
	token, addr := c.String("token"), c.String("addr")
	loopback, err := review.Loopback(addr)
	switch {
	case err != nil:
		return "", usageError("%s: %w", c.Command.Name, err)
	case !loopback && token == "":
		return "", usageError("%s: %s can be reached from other machines: choose a --token that they must show, or listen on 127.0.0.1", c.Command.Name, addr)
	case token == "":
		return review.NewToken(), nil
	}
	return token, nil
}

// listen takes the address, and says it as it was named, with the port that was got.
func listen(c *cli.Context) (net.Listener, string, error) {
	addr := c.String("addr")
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, "", usageError("%s: listening: %w; another --addr may be free", c.Command.Name, err)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", usageError("%s: %w", c.Command.Name, err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, "", err
	}
	return listener, net.JoinHostPort(host, port), nil
}

// webPage is what is served to a browser.
type webPage interface {
	URL() string
	Serve(context.Context, net.Listener) error
}

// present prints where a page is, shows it, and serves it until the command is
// interrupted.
func present(c *cli.Context, p webPage, listener net.Listener) error {
	fmt.Fprintln(c.App.Writer, p.URL())
	if !c.Bool("no-browser") && hasDisplay() {
		if err := openBrowser(p.URL()); err != nil {
			fmt.Fprintf(c.App.ErrWriter, "no browser was opened (%v): open the address yourself\n", err)
		}
	}
	return p.Serve(c.Context, listener)
}

// serve puts an annotation on a page in place of the terminal.
func (a *annotation) serve(c *cli.Context) error {
	token, err := pageToken(c)
	if err != nil {
		return err
	}
	listener, address, err := listen(c)
	if err != nil {
		return err
	}
	defer listener.Close() // serving closes it, and a second time does no harm
	server, err := review.NewAnnotation(review.AnnotationOptions{
		Session: a.session, Name: filepath.Base(a.path), Annotator: annotator(c.String("by")), Token: token, Address: address,
		Write: func() (string, error) {
			_, path, err := a.save()
			return path, err
		},
	})
	if err != nil {
		return usageError("%w", err)
	}
	fmt.Fprintf(c.App.ErrWriter, "%s of %s; Ctrl-C ends, the same command goes on\n", report.Plural(a.session.Counts().Proposed, "candidate"), report.Clean(a.path))
	return present(c, server, listener)
}

// hasDisplay says whether a browser could show anything.
func hasDisplay() bool {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

func openBrowser(address string) error {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // whatever it ends with, the address is printed
	return nil
}
