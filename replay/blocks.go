package replay

import (
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// Block is a text that a prompt carries as data.
type Block struct{ Tag, Text string }

// Blocks writes texts between tags that carry a number of their own, which stands in
// none of the texts, so that nothing inside can close them.
func Blocks(blocks ...Block) string {
	texts := make([]string, len(blocks))
	for i := range blocks {
		texts[i] = blocks[i].Text
	}
	nonce := tagNumber(texts)
	var b strings.Builder
	for _, block := range blocks {
		fmt.Fprintf(&b, "<%[1]s-%[2]s>\n%[3]s\n</%[1]s-%[2]s>\n", block.Tag, nonce, block.Text)
	}
	return b.String()
}

// tagNumber is a number that does not stand in any of the texts.
func tagNumber(texts []string) string {
	all := strings.Join(texts, "\x00")
	for i := 0; ; i++ {
		nonce := string(fixtures.HashBytes(fmt.Appendf(nil, "%d %s", i, all)))
		if !strings.Contains(all, nonce) {
			return nonce
		}
	}
}

// Transcript writes a context as a model reads it that is to judge it: every message
// with its role, calls with their arguments, ids left out.
func Transcript(messages []fixtures.Message) string {
	var b strings.Builder
	for _, m := range messages {
		if m.Content != "" {
			fmt.Fprintf(&b, "[%s] %s\n", m.Role, m.Content)
		}
		for _, call := range m.ToolCalls {
			fmt.Fprintf(&b, "[%s calls %s] %s\n", m.Role, call.Name, call.Arguments)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
