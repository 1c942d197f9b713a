// Package compacttest holds the test that every compactor has to pass, whoever
// wrote it.
//
// Call [TestCompactor] from a test of your own. It asks whether a compactor keeps what the
// engine relies on; whether it keeps what matters is what a set is played for, in go test
// with package replay/trial.
package compacttest
