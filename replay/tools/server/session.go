package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay/tools"
)

const (
	// protocol is the version that is offered to servers. It is the newest one in which
	// every session begins with a handshake: later ones have no sessions over HTTP.
	protocol = "2025-11-25"
	// maxMessage bounds one message of a server, and so the text of an answer, in bytes.
	maxMessage = 4 << 20
	// maxTools bounds the tools that a server lists.
	maxTools = 10_000
	// graceful is how long a server may take to end once its session is over.
	graceful = 2 * time.Second
)

// session is a server as one episode has it.
type session struct {
	client  *mcp.ClientSession
	offered map[string]tools.Effect
	timeout time.Duration
	process *process // nil for a server that runs already
}

// Connect begins a session with a server: it starts the command, or reaches the address.
func Connect(ctx context.Context, spec tools.Server) (tools.Session, error) {
	if len(spec.Command) == 0 {
		transport, err := newHTTP(spec.URL)
		if err != nil {
			return nil, err
		}
		return open(ctx, spec, transport, nil)
	}
	p, err := startProcess(spec)
	if err != nil {
		return nil, fmt.Errorf("starting the server %s: %w", strings.Join(spec.Command, " "), err)
	}
	return open(ctx, spec, &mcp.IOTransport{Reader: p.stdout, Writer: p.stdin, MaxLineLength: maxMessage}, p)
}

func open(ctx context.Context, spec tools.Server, transport mcp.Transport, p *process) (tools.Session, error) {
	s := &session{offered: map[string]tools.Effect{}, timeout: spec.Timeout, process: p}
	limited, stop := s.limit(ctx)
	defer stop()
	// A server may ask nothing of an episode: no folders, no model, no person.
	client := mcp.NewClient(&mcp.Implementation{Name: "doubletake", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	var err error
	if s.client, err = client.Connect(limited, transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol}); err == nil {
		err = s.list(limited)
	}
	if err != nil {
		closing := s.Close() // first, so that all that it said on stderr has come
		return nil, errors.Join(s.explain(limited, err), closing)
	}
	return s, nil
}

// limit is a context for one exchange with the server.
func (s *session) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("it did not answer within %v", s.timeout))
}

// explain puts in the place of a context's error why it ended, and adds the end of what
// the server said on stderr.
func (s *session) explain(limited context.Context, err error) error {
	cause := context.Cause(limited)
	if cause != nil {
		err = cause
	}
	if s.process != nil {
		if cause == nil && (errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)) {
			s.process.await(graceful) // it has ended, or is about to: what it said last is on its way
		}
		if said := bytes.TrimSpace(s.process.stderr.All()); len(said) > 0 {
			err = fmt.Errorf("%w; stderr: %s", err, strings.ToValidUTF8(string(said), "\ufffd"))
		}
	}
	return err
}

// list asks the server for its tools.
func (s *session) list(ctx context.Context) error {
	for tool, err := range s.client.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("listing its tools: %w", err)
		}
		if len(s.offered) >= maxTools {
			return fmt.Errorf("listing its tools: more than %d", maxTools)
		}
		effect := tools.Unsaid
		if a := tool.Annotations; a != nil {
			if effect = tools.Changes; a.ReadOnlyHint {
				effect = tools.ReadsOnly
			}
		}
		s.offered[tool.Name] = effect
	}
	return nil
}

// Offers says whether the server has the tool, and what it says of its effects.
func (s *session) Offers(tool string) (tools.Effect, bool) {
	effect, ok := s.offered[tool]
	return effect, ok
}

// Call calls a tool. That the call itself is at fault is a text for the agent; an error
// is a fault of the server.
func (s *session) Call(ctx context.Context, call fixtures.ToolCall) (string, error) {
	arguments := json.RawMessage("{}")
	if len(bytes.TrimSpace(call.Arguments)) > 0 {
		arguments = call.Arguments
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &object); err != nil || object == nil {
		return tools.ErrorMark + "the arguments are no JSON object", nil
	}
	limited, stop := s.limit(ctx)
	defer stop()
	result, err := s.client.CallTool(limited, &mcp.CallToolParams{Name: call.Name, Arguments: arguments})
	var refused *jsonrpc.Error
	if errors.As(err, &refused) && refused.Code == jsonrpc.CodeInvalidParams {
		return tools.ErrorMark + refused.Message, nil
	}
	if err != nil {
		return "", s.explain(limited, err)
	}
	text := textOf(result)
	if len(text) > maxMessage {
		return "", fmt.Errorf("it answered more than %d MiB", maxMessage>>20)
	}
	if result.IsError {
		text = tools.ErrorMark + text
	}
	return text, nil
}

// textOf is the text of a result. What is no text is named in its place.
func textOf(result *mcp.CallToolResult) string {
	var parts []string
	for _, c := range result.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("[image %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.AudioContent:
			parts = append(parts, fmt.Sprintf("[audio %s, %d bytes]", c.MIMEType, len(c.Data)))
		case *mcp.ResourceLink:
			parts = append(parts, fmt.Sprintf("[resource %s]", c.URI))
		case *mcp.EmbeddedResource:
			parts = append(parts, resourceText(c.Resource))
		}
	}
	if len(parts) == 0 && result.StructuredContent != nil {
		if data, err := fixtures.MarshalPlain(result.StructuredContent); err == nil {
			return string(data)
		}
	}
	return strings.Join(parts, "\n")
}

func resourceText(r *mcp.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Text != "":
		return r.Text
	}
	return fmt.Sprintf("[resource %s, %d bytes]", r.URI, len(r.Blob))
}

// Close ends the session, and the server where it was started for it.
func (s *session) Close() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if s.client != nil {
			_ = s.client.Close() // how a session ends says nothing about the episode
		}
	}()
	if s.process != nil {
		s.process.stop(graceful)
	}
	timer := time.NewTimer(graceful)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C: // a server at an address that does not answer; its client goes on by itself
	}
	return nil
}
