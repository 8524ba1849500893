//go:build !unix

package main

// fileLimit returns how many files the process may have open; ok is false where
// that is not known.
func fileLimit() (n uint64, ok bool) { return 0, false }
