// Package modeltest checks that an implementation of [replay.Model] keeps what the engine
// relies on.
//
// Call [TestModel] from the test of a model of your own, such as a client for a provider
// that [replay.Model] has none for.
package modeltest
