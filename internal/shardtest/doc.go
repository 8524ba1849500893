// Package shardtest makes runs of random requests and divides them into shards, as the ranks
// of pa-record record them, for tests. It also compares the reports of merged and whole runs.
package shardtest
