package compact

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/doubletake-dev/doubletake/replay"
)

// DefaultTimeout is how long one compaction by a foreign compactor may take.
const DefaultTimeout = 60 * time.Second

const (
	// maxAnswer is how many bytes an answer may have.
	maxAnswer = 64 << 20
	// maxReason is how many characters a reason may have.
	maxReason = 4 << 10
)

// driver is what the ways to ask a foreign compactor share: reading its answer,
// and saying what is wrong with it without a secret in the words.
type driver struct {
	name         string // where the compactor does not name itself
	instructions string
	counter      replay.Counter
	secrets      []string
	from         source
}

// read makes a compaction of an answer. The error is a finding about the compactor.
func (d *driver) read(answer []byte, req *replay.CompactRequest) (*replay.Compaction, error) {
	out, err := decodeOutput(d.blank(answer), req, d.from)
	if err != nil {
		return nil, fmt.Errorf("%s %w", d.from.says, err)
	}
	return d.finish(out, req), nil
}

// finish adds to a compaction what the compactor did not say.
func (d *driver) finish(out *replay.Compaction, req *replay.CompactRequest) *replay.Compaction {
	out.Instructions = d.instructions
	if out.Identity.Name == "" {
		out.Identity.Name = d.name
	}
	out.Reason = d.clean(out.Reason)
	if out.Status == replay.Compacted {
		before, after := tokensOf(d.counter, req.Messages), tokensOf(d.counter, out.Messages)
		if after > before {
			note(out, fmt.Sprintf("the output is larger than the input: %d tokens after, %d before", after, before))
		}
	}
	return out
}

// failed is a finding about the compactor.
func (d *driver) failed(reason string) *replay.Compaction {
	return &replay.Compaction{
		Status: replay.Failed, Reason: d.clean(reason),
		Identity: replay.CompactorIdentity{Name: d.name},
	}
}

// blank takes the values of secrets out of what a compactor said.
func (d *driver) blank(text []byte) []byte {
	for _, secret := range d.secrets {
		text = bytes.ReplaceAll(text, []byte(secret), []byte("[secret]"))
	}
	return text
}

// longestFirst sorts secrets so that none is taken out of a longer one.
func longestFirst(secrets []string) []string {
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(secrets)
}

// clean takes out of a text what must not be seen or must not reach a terminal.
func (d *driver) clean(text string) string {
	text = string(d.blank([]byte(text)))
	text = excerpt(text, maxReason)
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return -1
	}, text)
}

// timeoutOf is a timeout from options, the default for none.
func timeoutOf(timeout time.Duration) (time.Duration, error) {
	switch {
	case timeout < 0:
		return 0, fmt.Errorf("the timeout is %v, want a positive one", timeout)
	case timeout == 0:
		return DefaultTimeout, nil
	}
	return timeout, nil
}

// lateError is the finding about a compactor that took too long.
func lateError(timeout time.Duration) error {
	return fmt.Errorf("the compactor did not finish within %v", timeout)
}
