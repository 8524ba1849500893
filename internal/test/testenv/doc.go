// Package testenv gives tests a terminal, a program, a pipe or the processor time of the machine, and decides
// how thorough they are.
//
// Where a machine lacks something, a test is skipped; in CI it fails, because a
// skipped test looks like a passed one.
//
// Sweeps of damage, floods and huge values take minutes. make test runs a sample of
// them and make test-long, which sets PA_TEST_LONG, runs all: see [Long] and [Stride].
package testenv
