// Package load is when to send: the load levels of a run.
//
// A closed loop has a concurrency: so many slots, each of which sends its next
// request as soon as the last one has ended.
package load
