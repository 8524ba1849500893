// Package backend is the contract between the engine and a server protocol:
// how a workload entry becomes bytes, how they are sent, and how the answer is
// stamped. Each protocol is a subpackage (openai, kserve).
//
// What runs while load is on is Sender.Send, in one goroutine per slot. It
// stamps and keeps bytes; it decodes nothing. Decode runs later, off the hot
// path, in the goroutine that writes.
package backend
