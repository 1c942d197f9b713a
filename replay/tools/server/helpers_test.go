package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/tools"
)

// TestMain lets the test binary stand in for the servers of the tests.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		os.Exit(serve(os.Args[2]))
	}
	os.Exit(m.Run())
}

// serve is an MCP server over stdin and stdout, or what is none.
func serve(kind string) int {
	switch kind {
	case "silent":
		time.Sleep(time.Hour)
	case "dying":
		fmt.Fprintln(os.Stderr, "no licence")
		return 3
	case "garbage":
		fmt.Println("hello")
	case "environment":
		fmt.Fprintln(os.Stderr, strings.Join(os.Environ(), "\n"))
		return 3
	}
	if err := fileServer(".").Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type pathInput struct {
	Path string `json:"path"`
}

type writeInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// fileServer is an MCP server of the files below a folder.
func fileServer(dir string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	within := func(do func(*os.Root) (string, error)) (*mcp.CallToolResult, any, error) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, nil, err
		}
		defer root.Close()
		text, err := do(root)
		if err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "read_file", Annotations: reads}, func(_ context.Context, _ *mcp.CallToolRequest, in pathInput) (*mcp.CallToolResult, any, error) {
		return within(func(root *os.Root) (string, error) {
			data, err := root.ReadFile(in.Path)
			return string(data), err
		})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "list_directory", Annotations: reads}, func(_ context.Context, _ *mcp.CallToolRequest, in pathInput) (*mcp.CallToolResult, any, error) {
		return within(func(root *os.Root) (string, error) {
			entries, err := fs.ReadDir(root.FS(), in.Path)
			var names []string
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return strings.Join(names, "\n"), err
		})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "write_file"}, func(_ context.Context, _ *mcp.CallToolRequest, in writeInput) (*mcp.CallToolResult, any, error) {
		return within(func(root *os.Root) (string, error) {
			return "written", root.WriteFile(in.Path, []byte(in.Content), 0o644)
		})
	})
	mcp.AddTool(s, &mcp.Tool{Name: "flood_read", Annotations: reads}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return within(func(*os.Root) (string, error) { return strings.Repeat("x", maxMessage+1), nil })
	})
	mcp.AddTool(s, &mcp.Tool{Name: "wait_read", Annotations: reads}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	mcp.AddTool(s, &mcp.Tool{Name: "die_read", Annotations: reads}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of ink")
		os.Exit(9)
		return nil, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "show_picture", Annotations: reads}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.TextContent{Text: "two"}, &mcp.ImageContent{Data: []byte("abc"), MIMEType: "image/png"}, &mcp.ResourceLink{URI: "file:///a"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", Text: "inside"}},
		}}, nil, nil
	})
	return s
}

// ownProgram puts the test binary where it is found by its name.
func ownProgram(t testing.TB) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	return filepath.Base(program)
}

// shop is a set with a sandbox, in memory.
func shop() fstest.MapFS {
	return fstest.MapFS{"sandboxes/shop/sign.txt": {Data: []byte("open")}, "sandboxes/shop/docs/README.md": {Data: []byte("# Shop\n")}}
}

// recording is a conversation whose agent has the file server's tools.
func recording() *fixtures.Recording {
	rec := &fixtures.Recording{Header: fixtures.Header{Version: 1, ID: "shop"}}
	for _, name := range []string{"read_file", "write_file", "list_directory", "flood_read", "wait_read", "die_read", "show_picture", "not_served"} {
		rec.Header.Tools = append(rec.Header.Tools, fixtures.Tool{Name: name})
	}
	rec.Messages = []fixtures.Message{
		{Turn: 1, Role: fixtures.RoleUser, Content: "The shop has a sign."},
		{Turn: 2, Role: fixtures.RoleAssistant, ToolCalls: []fixtures.ToolCall{{ID: "a", Name: "read_file", Arguments: json.RawMessage(`{"path":"taped.txt"}`)}}},
		{Turn: 2, Role: fixtures.RoleTool, ToolCallID: "a", Content: "from the tape"},
		{Turn: 3, Role: fixtures.RoleUser, Content: "Close the shop."},
		{Turn: 4, Role: fixtures.RoleAssistant, Content: "Closed."},
	}
	return rec
}

// sandboxed is a fixture with the file server in the shop.
func sandboxed(t testing.TB, kind string) *fixtures.Fixture {
	return &fixtures.Fixture{
		ConversationID: "shop", Turns: 4, Fork: 2, Hash: "0123456789abcdef",
		Tools: &fixtures.ToolSettings{
			Sandbox: "sandboxes/shop",
			MCP:     &fixtures.ToolServer{Exec: []string{ownProgram(t), "serve", kind}, Timeout: "20s"},
		},
	}
}

// made are the tools of one episode, closed at the test's end.
func made(t testing.TB, m *tools.Maker, f *fixtures.Fixture) replay.Tools {
	t.Helper()
	made, err := m.New(f, recording(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.(io.Closer).Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return made
}

func call(t testing.TB, of replay.Tools, name, arguments string) *replay.ToolResult {
	t.Helper()
	result, err := of.Call(t.Context(), toolCall(name, arguments))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func toolCall(name, arguments string) replay.ToolCall {
	return replay.ToolCall{ToolCall: fixtures.ToolCall{ID: "x", Name: name, Arguments: json.RawMessage(arguments)}, Step: 1, Turn: 4}
}

func empty(t testing.TB, dir string) bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries) == 0
}
