//go:build race

package profilejson

// slowdown divides the sizes of tests that only move bytes: the race detector
// makes them a hundred times slower and has nothing to find in them.
const slowdown = 50
