// Package backend is the contract between the recorder and a server protocol: how a
// workload entry is encoded and sent, and how its responses are stamped and decoded. Each
// protocol is a subpackage (openai, kserve); the example is a whole backend.
//
// During the load, Sender.Send runs in one goroutine per slot. It stamps and keeps bytes
// and decodes nothing. Decode runs later, in the goroutine that writes the export.
//
// Instants are Unix nanoseconds of the run's clock (package rxclock).
package backend
