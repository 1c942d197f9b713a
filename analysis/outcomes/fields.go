package outcomes

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/doubletake-dev/doubletake/fixtures"
)

// field is the value under a name in the first of some objects that has it.
func field(name string, objects ...json.RawMessage) (string, error) {
	for _, text := range objects {
		var fields map[string]json.RawMessage
		if json.Unmarshal(text, &fields) != nil {
			continue
		}
		value, ok := fields[name]
		if !ok || string(value) == "null" {
			continue
		}
		var plain string
		if json.Unmarshal(value, &plain) == nil {
			return name + " " + plain, nil
		}
		canonical, err := fixtures.CanonicalJSON(value)
		if err != nil {
			return "", fmt.Errorf("its %s: %w", name, err)
		}
		return name + " " + string(canonical), nil
	}
	return "", fmt.Errorf("it has no %s to cluster by", name)
}

// withoutMark leaves out the mark of byte order that some tools begin files with.
func withoutMark(in io.Reader) io.Reader {
	buffered := bufio.NewReaderSize(in, 64<<10)
	if head, _ := buffered.Peek(3); bytes.Equal(head, []byte("\ufeff")) {
		_, _ = buffered.Discard(3) // they were seen
	}
	return buffered
}
