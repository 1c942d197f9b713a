// Package outcomes reads what other tools found, row by row, as outcomes under keys, and
// pairs and tests two such files as a night is paired and tested: by key, never by order.
package outcomes
