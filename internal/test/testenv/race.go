//go:build race

package testenv

// Race reports whether the race detector is on. It makes tests ten times slower.
const Race = true
