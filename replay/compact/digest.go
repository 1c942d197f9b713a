package compact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// version changes whenever a built-in compactor's output may change for the same
// input; it is part of every digest and every identity.
const version = "1"

// Digester is a compactor that can name all that its output depends on, the
// model's answers aside.
type Digester interface {
	Digest() fixtures.Hash
}

// Digest is the compactor's digest for the lineage, or "" for a foreign one that
// has none. For a command it reads the files that the command line names, so ask
// once a run.
func Digest(c replay.Compactor) fixtures.Hash {
	if d, ok := c.(Digester); ok {
		return d.Digest()
	}
	return ""
}

// digestOf hashes parts so that no two lists of parts are the same bytes.
func digestOf(parts ...string) fixtures.Hash {
	var b strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&b, "%d:%s\n", len(part), part)
	}
	return fixtures.HashBytes([]byte(b.String()))
}

func sha256Hex(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func identity(name string) replay.CompactorIdentity {
	return replay.CompactorIdentity{Name: name, Version: version}
}
