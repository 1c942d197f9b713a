package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// server is a process that serves HTTP on this machine until it is stopped.
type server struct {
	url  string // http://127.0.0.1:PORT
	stop func()
}

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// serve starts a server and waits until it prints the address that it listens on.
func serve(ctx context.Context, dir string, patience time.Duration, name string, args ...string) (*server, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 3 * time.Second // then it is killed
	said, printed := io.Pipe()
	cmd.Stdout, cmd.Stderr = printed, printed
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is of no interest: it ends because it is told to, or says why
		_ = printed.Close()
		close(ended)
	}()
	listening := make(chan string, 1)
	var last []string // what it said before it listened
	go func() {
		lines := bufio.NewScanner(said)
		lines.Buffer(nil, 1<<20)
		found := false
		for lines.Scan() {
			if found {
				continue
			}
			last = append(last, lines.Text())
			if url := address.FindString(lines.Text()); url != "" {
				found = true
				listening <- url
			}
		}
		_, _ = io.Copy(io.Discard, said)
		close(listening)
	}()
	s := &server{stop: func() { cancel(); <-ended }}
	select {
	case url, ok := <-listening:
		if !ok {
			s.stop()
			return nil, fmt.Errorf("%s ended before it listened: %s", name, strings.Join(last[max(0, len(last)-5):], "\n"))
		}
		s.url = url
		return s, nil
	case <-time.After(patience):
		s.stop()
		return nil, fmt.Errorf("%s does not listen after %v", name, patience)
	case <-ctx.Done():
		s.stop()
		return nil, ctx.Err()
	}
}
