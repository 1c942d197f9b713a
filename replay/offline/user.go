package offline

import (
	"strings"

	"github.com/doubletake-dev/doubletake/replay"
)

// recordedIntent recognises a request to speak for the user by the blocks of its last
// user message, and returns what the recorded user said. The blocks carry one nonce, so
// that a conversation cannot close its own.
func recordedIntent(text string) (string, bool) {
	talk, ok := findBlock(text, replay.TalkTag, "", 0)
	if !ok || talk.begin != 0 {
		return "", false
	}
	intent, ok := findBlock(text[talk.end:], replay.IntentTag, talk.nonce, 0)
	return strings.TrimSpace(intent.inner), ok
}
