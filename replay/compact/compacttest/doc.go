// Package compacttest holds the test that every compactor has to pass, whoever
// wrote it.
package compacttest
