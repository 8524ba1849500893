// Package runtest makes runs for tests: runs with chosen times for tests of several runs, and runs of random requests
// that it divides into shards, as the ranks of pa-record record them. It also compares the reports of merged and whole
// runs.
package runtest
