package main

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// signserver is an MCP server with one tool, look, that counts its calls in the folder
// in which it was started and says what the sign there says.
func signserver() {
	s := mcp.NewServer(&mcp.Implementation{Name: "sign", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "look"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		calls, err := os.OpenFile("calls.txt", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, err
		}
		defer calls.Close()
		if _, err := calls.WriteString("\n"); err != nil {
			return nil, nil, err
		}
		info, err := calls.Stat()
		if err != nil {
			return nil, nil, err
		}
		sign, err := os.ReadFile("sign.txt")
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("served %q, %d calls", sign, info.Size())}}}, nil, err
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
