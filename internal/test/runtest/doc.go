// Package runtest makes runs for tests: runs with chosen times for tests of several runs, and runs of random requests
// that it divides into shards, as the ranks of pa-record record them. It also compares the reports of merged and whole
// runs, and has the common parts of the tests of other tools' reports: it opens their files and the tokenizers of the
// recorded reports, and fuzzes the writers of their result files.
package runtest
