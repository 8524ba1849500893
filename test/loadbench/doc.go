//go:build linux

// Loadbench measures pa-record under load against the simulated server, each
// in a process of its own, side by side with a bare client, and pa-analyze on a
// made-up file, side by side with plain JSON readers. It prints tables in
// markdown for docs/benchmarks.md.
//
//	loadbench -record bin/pa-record [-reps 5] [-sections clock,grpc,cpu,schedule,soak,memory]
//	loadbench -analyze bin/pa-analyze -sections analysis,definitions,columnar [-requests 10000] [-check]
//
// The server writes into the text of each token the time at which it handed the token to its
// kernel.
// The error of a recorded time is |recorded − written|. It includes the time in the
// server's kernel and on the way to the client. The error of a start is |recorded start −
// the server's kernel's receive stamp|.
//
// The bare client is a net/http client that reads each stream, splits it into events and
// takes the time after each read, as load generators do; it keeps nothing and writes
// nothing. So its times are taken in user space. CPU figures are ratios to its CPU time.
//
// The file has the form of perf_analyzer's exports of streamed chat completions; a fixed
// seed makes it the same file each time. Each reader of it is a process: its CPU time is
// user and system time, its memory the largest resident set. With -check, a ratio above
// its limit (limits.go) is an error.
//
// Candidates alternate; each figure is the median of the repetitions. Absolute times differ
// from machine to machine, so only ratios hold on another machine.
package main
