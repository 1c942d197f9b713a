package labelling

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// errUnreadable says that a text of evidence cannot be read from the run directory.
var errUnreadable = errors.New("evidence cannot be read")

// evidenceList is the evidence of a case in the making.
type evidenceList []Evidence

func (l *evidenceList) add(role Role, text string, seen *bool) {
	if text != "" {
		*l = append(*l, Evidence{ID: fmt.Sprintf("e%d", len(*l)+1), Role: role, Text: text, SHA256: digest(text), SeenByProducer: seen})
	}
}

// nothingCame stands for the world of an output to which nothing came after the fork, so
// that in the blind stage the cases of a pair have as many texts.
const nothingCame = "(nothing was said to the agent, and it called nothing)"

// blindEvidence is what the cases of both sides have in the same form: what came to the
// agent after the fork, the recorded turns before it, and what the reference did where it
// is no side of the pair. Of the recorded turns it is not told whether the agent saw them:
// only who was not compacted did.
func (m *maker) blindEvidence(e, other *replay.Episode) ([]Evidence, error) {
	yes, no := true, false
	list := evidenceList{}
	list.add(Seen, cmp.Or(renderWorld(e.Steps), nothingCame), &yes)
	conversation, known, err := m.conversation(e, other)
	if err != nil {
		return nil, err
	}
	_, knownThere, err := m.conversation(other, e)
	if err != nil {
		return nil, err
	}
	if known && knownThere { // in both cases of the pair, or in neither
		list.add(Conversation, conversation, nil)
	}
	list.add(Reference, m.elsewhere(e, other), &no)
	return list, nil
}

// elsewhere is what the reference did where it is no side of the pair, else empty.
func (m *maker) elsewhere(e, other *replay.Episode) string {
	reference := m.reference(e)
	if reference == nil || reference.Key == e.Key || reference.Key == other.Key {
		return ""
	}
	text, _ := renderOutput(reference.Steps)
	return text
}

// evidence gathers the texts that a case's claims can be held against in the grounding
// stage. Limitations say what is not there and why.
func (m *maker) evidence(e, other *replay.Episode) (list evidenceList, limitations []string, err error) {
	yes, no := true, false
	limitations = []string{}
	if e.Context != "" {
		text, err := m.contextText(e.Context)
		if err != nil {
			return nil, nil, err
		}
		list.add(Seen, text, &yes)
	}
	list.add(Seen, renderWorld(e.Steps), &yes)

	conversation, known, err := m.conversation(e, other)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !known:
		limitations = append(limitations, "the recorded turns up to the fork cannot be put together from the run's contexts")
	case e.Context == "":
		list.add(Conversation, conversation, nil)
	case compacted(e) > 0:
		list.add(Conversation, conversation, &no)
	default:
		list.add(Conversation, conversation, &yes)
	}
	if other.Context != "" && compacted(other) > 0 {
		text, err := m.contextText(other.Context)
		if err != nil {
			return nil, nil, err
		}
		list.add(Compaction, text, &no)
	}
	list.add(Reference, m.elsewhere(e, other), &no)
	return list, limitations, nil
}

// compacted counts the compactions that ran up to the fork.
func compacted(e *replay.Episode) int {
	n := 0
	for i := range e.Compactions {
		if e.Compactions[i].AfterTurn <= e.Fork && e.Compactions[i].Status == replay.Compacted {
			n++
		}
	}
	return n
}

// reference is the episode of the reference for the fixture of another, or nil.
func (m *maker) reference(e *replay.Episode) *replay.Episode {
	arm := m.record.Arm("reference")
	if arm == nil {
		return nil
	}
	found := m.record.Episode(replay.Key{Fixture: e.Fixture, Arm: arm.Name, Replicate: e.Replicate})
	if found == nil || found.Status != replay.Played && found.Status != replay.Accepted {
		return nil
	}
	return found
}

func (m *maker) context(hash fixtures.Hash) ([]fixtures.Message, error) {
	if m.record.Contexts == nil {
		return nil, fmt.Errorf("%w: the run has no contexts", errUnreadable)
	}
	messages, err := m.record.Contexts.Get(hash)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return messages, nil
}

// contextText is a context as text. Cases of one fixture share their texts, which can be
// long.
func (m *maker) contextText(hash fixtures.Hash) (string, error) {
	if text, ok := m.texts[hash]; ok {
		return text, nil
	}
	messages, err := m.context(hash)
	if err != nil {
		return "", err
	}
	m.texts[hash] = renderContext(messages)
	return m.texts[hash], nil
}

// isPrefix says whether messages have the hash of an episode's recorded turns. Runs of
// earlier versions have that of their canonical JSON.
func isPrefix(messages []fixtures.Message, hash fixtures.Hash) (bool, error) {
	data, err := fixtures.MarshalMessages(messages)
	if err != nil {
		return false, err
	}
	if fixtures.HashBytes(data) == hash {
		return true, nil
	}
	earlier, err := fixtures.HashJSON(messages)
	return earlier == hash, err
}

// conversation puts the recorded turns up to the fork together from what the episodes of
// a fixture stood on. It is right by the hash that every episode carries, and not known where no
// episode gives it.
func (m *maker) conversation(e, other *replay.Episode) (text string, known bool, err error) {
	if text, ok := m.prefixes[e.PrefixHash]; ok {
		return text, true, nil
	}
	candidates := []*replay.Episode{e, other}
	if reference := m.reference(e); reference != nil {
		candidates = append(candidates, reference)
	}
	var fault error
	for _, c := range candidates {
		if c.PrefixHash != e.PrefixHash || c.Context == "" {
			continue
		}
		messages, err := m.prefix(c)
		if err != nil {
			fault = err
			continue
		}
		fits, err := isPrefix(messages, e.PrefixHash)
		if err != nil {
			return "", false, fmt.Errorf("hashing the recorded turns of %s: %w", e.ConversationID, err)
		}
		if !fits {
			continue
		}
		text = renderContext(messages)
		if same := m.texts[c.Context]; same == text {
			text = same
		}
		m.prefixes[e.PrefixHash] = text
		return text, true, nil
	}
	return "", false, fault
}

// prefix undoes the compactions of an episode up to its fork: each context that was
// compacted begins with what the compaction before it left, and the rest is recorded.
func (m *maker) prefix(e *replay.Episode) ([]fixtures.Message, error) {
	messages := []fixtures.Message{}
	left := 0 // messages that the compaction before left
	grow := func(hash fixtures.Hash) error {
		context, err := m.context(hash)
		if err != nil {
			return err
		}
		if left <= len(context) {
			messages = append(messages, context[left:]...)
		}
		return nil
	}
	for i := range e.Compactions {
		c := &e.Compactions[i]
		if c.AfterTurn > e.Fork {
			break
		}
		if err := grow(c.Before); err != nil {
			return nil, err
		}
		after, err := m.context(c.After)
		if err != nil {
			return nil, err
		}
		left = len(after)
	}
	return messages, grow(e.Context)
}
