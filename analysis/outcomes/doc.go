// Package outcomes reads what other tools found, row by row, as outcomes under keys, and
// pairs and tests two such files as a night is paired and tested: by key, never by order.
//
// Start with [Read], for each file, and [Compare]. It knows no items and no gates but the
// pair test: for those a run of doubletake's own is needed.
package outcomes
