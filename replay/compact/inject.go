package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/xrash/smetrics"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// FailureKind is how a compactor's model fails on purpose.
type FailureKind string

// The kinds of injected failures.
const (
	FailError   FailureKind = "error"   // the provider answers with status 500
	FailTimeout FailureKind = "timeout" // no answer comes, without the wait
	FailGarbage FailureKind = "garbage" // the answer is a gateway's page of HTML
	FailEmpty   FailureKind = "empty"   // the answer holds nothing
)

// FailureKinds lists the kinds.
func FailureKinds() []FailureKind {
	return []FailureKind{FailError, FailTimeout, FailGarbage, FailEmpty}
}

// Injection is a failure at one call that a compactor makes to its model.
type Injection struct {
	Kind FailureKind
	// Call counts the calls of an episode from 1.
	Call int
}

// ParseInjection reads KIND@N, such as error@1.
func ParseInjection(text string) (Injection, error) {
	kind, number, ok := strings.Cut(text, "@")
	if !ok {
		return Injection{}, fmt.Errorf("%q: want KIND@N, such as error@1: which failure, and at which call of an episode", text)
	}
	if !slices.Contains(FailureKinds(), FailureKind(kind)) {
		nearest := slices.MinFunc(FailureKinds(), func(a, b FailureKind) int {
			return smetrics.WagnerFischer(kind, string(a), 1, 1, 1) - smetrics.WagnerFischer(kind, string(b), 1, 1, 1)
		})
		return Injection{}, fmt.Errorf("%q: no failure is called %q; did you mean %q? They are error, timeout, garbage and empty", text, excerpt(kind, 40), nearest)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return Injection{}, fmt.Errorf("%q: calls count from 1, have %q", text, excerpt(number, 40))
	}
	return Injection{FailureKind(kind), n}, nil
}

func (i Injection) String() string { return fmt.Sprintf("%s@%d", i.Kind, i.Call) }

// errInjected is a failure of the model that was injected.
var errInjected = errors.New("the failure was injected")

// Injected is a built-in compactor whose model fails on purpose at one call of every
// episode, to see what becomes of the history then. What of the failure comes through
// as an error is the compactor's own failure, not the world's.
type Injected struct {
	name      string
	compactor replay.Compactor
	injection Injection

	mu sync.Mutex
	// made counts the calls that each compaction of an episode made: the episodes of one
	// arm run at the same time, and the count must be each one's own.
	made map[episodeOf]map[int]int
}

// episodeOf names an episode as far as a compactor knows it.
type episodeOf struct {
	fixture   string
	replicate int
}

// NewInjected makes the built-in compactor of that name, which must be one that asks a
// model, with a model that fails.
func NewInjected(name string, options Options, injection Injection) (*Injected, error) {
	if !NeedsModel(name) {
		return nil, fmt.Errorf("compactor %q asks no model of ours, and no failure can be injected into it", name)
	}
	if options.Model == nil {
		return nil, fmt.Errorf("compactor %q writes its summary with a model, and none is given", name)
	}
	options.Model = &failingModel{options.Model, injection}
	compactor, err := New(name, options)
	if err != nil {
		return nil, err
	}
	return &Injected{name: name, compactor: compactor, injection: injection, made: map[episodeOf]map[int]int{}}, nil
}

// callsKey is under which a context carries the calls of a compaction.
type callsKey struct{}

// calls counts the calls of one compaction; a compactor makes them one after another.
type calls struct {
	before int // of the compactions before
	made   int
	failed bool
}

// Compact asks the compactor.
func (c *Injected) Compact(ctx context.Context, req *replay.CompactRequest) (*replay.Compaction, error) {
	counted := &calls{before: c.before(req)}
	out, err := c.compactor.Compact(context.WithValue(ctx, callsKey{}, counted), req)
	c.note(req, counted.made)
	if !counted.failed {
		return out, err
	}
	if errors.Is(err, errInjected) {
		failed := &replay.Compaction{Status: replay.Failed, Reason: err.Error(), Identity: identity(c.name)}
		if out != nil {
			failed.Identity, failed.Exchanges = out.Identity, out.Exchanges
		}
		out, err = failed, nil
	}
	if err != nil {
		return out, err
	}
	failed := *out
	failed.Injected = c.injection.String()
	// Nobody was asked, so nothing was paid.
	failed.Exchanges = slices.DeleteFunc(slices.Clone(failed.Exchanges), func(x replay.Exchange) bool { return x.Key == injectedKey })
	return &failed, nil
}

// before is how many calls the earlier compactions of the episode made.
func (c *Injected) before(req *replay.CompactRequest) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for compaction, made := range c.made[episodeOf{req.Fixture, req.Replicate}] {
		if compaction < req.Compaction {
			n += made
		}
	}
	return n
}

func (c *Injected) note(req *replay.CompactRequest, made int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	episode := episodeOf{req.Fixture, req.Replicate}
	if c.made[episode] == nil {
		c.made[episode] = map[int]int{}
	}
	c.made[episode][req.Compaction] = made
}

// Digest names what the output depends on: the compactor, and the failure.
func (c *Injected) Digest() fixtures.Hash {
	return digestOf("injected", c.injection.String(), string(Digest(c.compactor)))
}

// Close closes the compactor where it holds anything.
func (c *Injected) Close() error {
	if closer, ok := c.compactor.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// failingModel fails at one call of a compaction's episode and passes every other on.
type failingModel struct {
	model     replay.Model
	injection Injection
}

// injectedKey is the key of answers that nobody gave.
const injectedKey fixtures.Hash = "injected"

// injectedPage is what a gateway says that has lost its provider.
const injectedPage = "<html>\n<head><title>502 Bad Gateway</title></head>\n<body>\n<center><h1>502 Bad Gateway</h1></center>\n</body>\n</html>"

// Complete asks the model, or fails.
func (m *failingModel) Complete(ctx context.Context, request *replay.Request) (*replay.Reply, error) {
	counted, _ := ctx.Value(callsKey{}).(*calls)
	if counted == nil {
		return m.model.Complete(ctx, request)
	}
	counted.made++
	if counted.before+counted.made != m.injection.Call {
		return m.model.Complete(ctx, request)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	counted.failed = true
	reply := &replay.Reply{FinishReason: "stop", Key: injectedKey, Message: fixtures.Message{Role: fixtures.RoleAssistant}}
	switch m.injection.Kind {
	case FailError:
		return nil, fmt.Errorf("the provider answered 500 Internal Server Error (%w)", errInjected)
	case FailTimeout:
		return nil, fmt.Errorf("no answer within the time limit (%w)", errInjected)
	case FailGarbage:
		reply.Message.Content = injectedPage
	}
	return reply, nil
}
