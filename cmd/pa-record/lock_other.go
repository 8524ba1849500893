//go:build !unix

package main

import "os"

// lockFile reports whether nobody else writes the file. Where there is no
// flock (Windows) a file that is open cannot be removed, which has the same
// effect when a second run tries to replace it.
func lockFile(*os.File) bool { return true }
