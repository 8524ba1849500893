//go:build !unix

package main

// fileLimit returns false: the number of files that the process may open is unknown.
func fileLimit() (n uint64, ok bool) { return 0, false }

// ignoreFileSizeSignal does nothing where there is no such signal.
func ignoreFileSizeSignal() {}
