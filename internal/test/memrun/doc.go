// Package memrun holds a run in memory and reads it as an export.Reader, for tests. It makes requests in short form,
// random ones, runs with chosen times, and runs of random requests that it divides into shards, as the ranks of pa-record
// record them.
package memrun
