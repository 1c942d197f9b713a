// Natsservers runs NATS servers with JetStream for a test, in a process of their own:
//
//	natsservers [-config FILE] COUNT DIR
//
// More than one are one cluster. Their files go below DIR. FILE is a server's configuration,
// which goes before what the servers have by themselves. It prints their addresses, with
// commas between, on one line once all take connections. "stop N" on its standard input
// ends the server with that number, from 0, and is answered by "stopped N". The end of its
// standard input ends them all, so that they never outlive the test.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "natsservers:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("natsservers", flag.ContinueOnError)
	config := flags.String("config", "", "a server's configuration `FILE`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 2 {
		return errors.New("usage: natsservers [-config FILE] COUNT DIR")
	}
	n, err := strconv.Atoi(flags.Arg(0))
	if err != nil || n < 1 || n > 9 {
		return fmt.Errorf("%q servers; want 1 to 9", flags.Arg(0))
	}
	servers, err := start(n, flags.Arg(1), *config)
	defer func() {
		for _, s := range servers {
			stop(s)
		}
	}()
	if err != nil {
		return err
	}
	var addresses []string
	for _, s := range servers {
		addresses = append(addresses, s.ClientURL())
	}
	if _, err := fmt.Fprintln(out, strings.Join(addresses, ",")); err != nil {
		return fmt.Errorf("telling the addresses: %w", err)
	}
	commands := bufio.NewScanner(in)
	for commands.Scan() {
		which, ok := strings.CutPrefix(commands.Text(), "stop ")
		i, err := strconv.Atoi(which)
		if !ok || err != nil || i < 0 || i >= n {
			return fmt.Errorf("%q: want stop and a number below %d", commands.Text(), n)
		}
		stop(servers[i])
		if _, err := fmt.Fprintln(out, "stopped", i); err != nil {
			return fmt.Errorf("telling that server %d has stopped: %w", i, err)
		}
	}
	return commands.Err()
}

// start starts n servers, by the file config where there is one, and waits until they take
// connections. With an error it returns those that run.
func start(n int, dir, config string) ([]*server.Server, error) {
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var running []*server.Server
	for i := range n {
		options := &server.Options{
			ServerName: fmt.Sprintf("s%d", i+1), Host: "127.0.0.1", Port: server.RANDOM_PORT,
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprintf("s%d", i+1)), NoLog: true, NoSigs: true,
		}
		if err := options.ProcessConfigFile(config); err != nil {
			return running, fmt.Errorf("configuring server %d: %w", i, err)
		}
		if n > 1 {
			options.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]}
			options.Routes = routes
		}
		s, err := server.NewServer(options)
		if err != nil {
			return running, fmt.Errorf("making server %d: %w", i, err)
		}
		go s.Start()
		running = append(running, s)
	}
	for i, s := range running {
		const startWait = 2 * time.Minute
		if !s.ReadyForConnections(startWait) {
			return running, fmt.Errorf("server %d takes no connections after %s", i, startWait)
		}
	}
	return running, nil
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// freePorts are ports that nobody uses.
func freePorts(n int) ([]int, error) {
	var ports []int
	var listeners []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("looking for a free port: %w", err)
		}
		listeners = append(listeners, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for _, l := range listeners {
		if err := l.Close(); err != nil {
			return nil, fmt.Errorf("freeing a port: %w", err)
		}
	}
	return ports, nil
}
