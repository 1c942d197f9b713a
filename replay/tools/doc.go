// Package tools answers the tool calls of replayed episodes. It runs nothing that the
// fixture does not name, and what it runs works in a folder of the episode's own.
//
// Four things can answer a call:
//
//   - the tape: what the recording got for the same call, by the tool's name and the
//     canonical arguments, which the rules of the fixture's tools.normalise widen;
//   - the stubs: the fixture's texts for calls that satisfy an expression;
//   - the simulator: a program that the fixture names, run once for each call;
//   - the sandbox: an MCP server that the fixture names, started anew for each episode,
//     or reached at an address with a session for each episode.
//
// They are asked in this order. With "first": "sandbox" the tape comes last instead: once
// an agent has changed something that the recording didn't, the tape tells of a world
// that is no more. What nothing answers is a miss: a fixed text, and the step is
// divergent.
//
// The simulator and a server that is started run in a copy of the fixture's sandbox,
// sandboxes/NAME in the set, which holds the world as it is at the fork. They get PATH,
// a home of their own and no other variable, and they and all that they started are
// killed when they are late. A server at an address gets no call that may change
// something, unless the fixture says "writes": true: it is not the episode's own.
//
// What a simulator reads is a [SimulatorRequest], what it prints a [SimulatorAnswer]:
//
//	{"version":1,"fixture":"shop","step":3,"turn":9,"tool":"search","arguments":{"q":"boots"},"state":{"calls":2}}
//	{"result":"two pairs","state":{"calls":3}}
//
// An answer with "error" in place of "result" is what the agent gets of a tool that
// failed. A program that fails, hangs or prints something else leaves the episode
// without an outcome.
package tools
