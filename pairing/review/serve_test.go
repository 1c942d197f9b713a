package review

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
)

// A request that never ends does not make the end of the page a failure.
func TestTheEndDoesNotWaitForAStalledRequest(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reading := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- serveUntil(ctx, listener, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			close(reading)
			_, _ = io.ReadAll(r.Body)
		}))
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	<-reading
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the page ended with %v", err)
	}
}
