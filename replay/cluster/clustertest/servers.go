// Package clustertest starts NATS servers with JetStream inside a test.
package clustertest

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Group is a group of servers.
type Group struct {
	// URL is their addresses with commas between.
	URL     string
	servers []*server.Server
}

// Stop ends the server with that number, from 0.
func (g *Group) Stop(i int) {
	g.servers[i].Shutdown()
	g.servers[i].WaitForShutdown()
}

// Servers starts so many servers and returns their addresses, as [Start] does.
func Servers(t testing.TB, n int) string {
	t.Helper()
	return Start(t, n).URL
}

// Start starts so many servers, which are one cluster where they are more than one. They
// end with the test.
func Start(t testing.TB, n int) *Group {
	t.Helper()
	ports := freePorts(t, n)
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	var addresses []string
	var running []*server.Server
	for i := range n {
		options := &server.Options{
			ServerName: fmt.Sprintf("s%d", i+1), Host: "127.0.0.1", Port: server.RANDOM_PORT,
			JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
		}
		if n > 1 {
			options.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i]}
			options.Routes = routes
		}
		s, err := server.NewServer(options)
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		running = append(running, s)
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
	}
	for _, s := range running {
		const startWait = 20 * time.Second
		if !s.ReadyForConnections(startWait) {
			t.Fatal("a server does not start")
		}
		addresses = append(addresses, s.ClientURL())
	}
	return &Group{strings.Join(addresses, ","), running}
}

// freePorts are ports that nobody uses.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	var ports []int
	var listeners []net.Listener
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for _, l := range listeners {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return ports
}
