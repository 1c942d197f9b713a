// Package model reaches models: an OpenAI-compatible chat client behind
// [replay.Model] that tries again, streams, and adapts to what a model refuses; limits
// that a provider's refusals bring down; a store of answers so that none is paid twice;
// a budget; and the token counter. Anthropic's Messages API and OpenAI's Responses API
// have clients of their own.
//
// Start with [NewClient]. [NewLimited], [NewBudgeted] and [NewCached] wrap a model in
// limits, a budget and a store, in that order.
package model
