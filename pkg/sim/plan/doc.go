// Package plan decides the simulated server's answers and their times, without sending
// anything.
//
// A [Plan] turns a [Request] into steps: the text of each token and its due time.
// A protocol renders the steps as events. [Script] turns the events into the chunks
// that a server writes, and applies a [Fault]:
//
//	p := plan.New(seed, request)
//	for c := range plan.Script(render(p.Steps()), p.Fault, p.FaultAfter, framing) {
//		… wait until c.At, write c.Data, do c.Then …
//	}
//
// # Terms
//
// A choice is one of several answers to the same request. Due times are
// time.Durations since the start of the request. [Delay] and [Length] are
// distributions of times and of token counts.
//
// # Randomness
//
// Every random value is a function of (seed, request, purpose, token); see bits.
// Equal seeds give equal plans on any number of cores.
package plan
