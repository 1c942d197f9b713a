// Package model reaches models: an OpenAI-compatible chat client behind
// [replay.Model], a store of answers so that none is paid twice, and the token
// counter.
package model
