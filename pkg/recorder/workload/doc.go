// Package workload holds the requests to send, independent of any protocol.
//
// An [Entry] is one request: named values of an input file, or a [Prompt]. A backend
// encodes it. A [Source] is an ordered set of entries, which need not be in memory.
// [Map], [Batches], [Models], [Limit] and [ByOffset] derive sources from sources, and an
// [Order] selects the entry to send next. Everything random depends only on a seed and a
// number, so every run and every machine sends the same requests.
//
// Package dataset reads sources from files, package synth generates them, and package
// render turns prompts into request bodies.
package workload
