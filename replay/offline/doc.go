// Package offline is the embedded deterministic provider: an HTTP server on
// loopback that speaks the OpenAI protocol and needs no model and no network.
//
// Every answer is a pure function of the request body and of the [Library] that
// the handler was made with: the same body gives the same bytes, in any order, on
// any machine. Five roles are told apart by the shape of the request alone:
//
//   - a judge, where the last user message holds context, statement and question
//     blocks (judge.go),
//   - a grader of the rubric, and an agent whose memory is probed, where it begins
//     with the blocks of either (rubric.go),
//   - a summariser, where it holds a conversation block or asks for a summary
//     (summarise.go),
//   - an agent, everything else (agent.go): it follows a [Script] where the last
//     user message is a scripted one, and a plain rule of its own elsewhere.
//
// [NewFlippingHandler] is the exception: its agent now and then gives another answer
// than the one that its context calls for, as real models do (flip.go).
//
// What the judge and the scripts' conditions say about a text comes from one
// place, [Reading.Find] in stance.go: whether a context supports a claim, turns it
// around, or does not hold it. Others may use it as a deterministic judge.
package offline
