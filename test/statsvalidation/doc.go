// Statsvalidation measures by simulation what package inference promises, and
// prints it as the tables of docs/reference/statistics.md:
//
//	go run ./test/statsvalidation [-reps 4000] [-seed 1] [-tables REGEXP]
//
// It exits with 1, after the tables, when a cell does not keep its promise.
// The random numbers depend on the seed, the cell and the repetition alone,
// so that a run can be repeated on any number of cores. With fewer than 4000
// repetitions every bound gets an allowance for chance and long runs are
// repeated a quarter as often: that is the version that "go test" runs.
package main
