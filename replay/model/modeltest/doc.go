// Package modeltest checks that an implementation of [replay.Model] keeps what the engine
// relies on.
package modeltest
