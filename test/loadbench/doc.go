//go:build linux

// Loadbench measures pa-record under load against the simulated server, beside a bare client.
// It measures pa-analyze on a made-up file, beside plain JSON readers. Each program runs in its
// own process. Loadbench prints tables in Markdown for docs/benchmarks.md and benchmarks-analyze.md.
//
//	loadbench -record bin/pa-record [-reps 5] [-sections clock,grpc,cpu,endpoints,rank,schedule,soak,memory]
//	loadbench -analyze bin/pa-analyze -sections analysis,definitions,columnar,shards [-requests 10000] [-check]
//	loadbench -record bin/pa-record -sections peers -rounds 4 -tokens 200 -peers "$(realservers/peers/install.sh)"
//
// The server writes into the text of each token the time at which it handed the token to its
// kernel. The error of a recorded time is |recorded − written|. It includes the time in the
// server's kernel and on the way to the client. The error of a start is |recorded start −
// the server's kernel's receive stamp|.
//
// The bare client is a net/http client that reads each stream, splits it into events and
// takes the time after each read in user space, as load generators do. It keeps nothing and
// writes nothing. CPU figures are ratios to its CPU time.
//
// The file has the form of perf_analyzer's exports of streamed chat completions. A fixed seed
// makes it the same file each time. CPU time is a process's user and system time, memory its
// largest resident set. With -check, a ratio above its limit is an error. Ratios of two processes
// in the same run hold on every machine; times do not, so none has a limit.
//
// Candidates alternate; each figure is the median of the repetitions.
package main
