//go:build race

package main

// underRace says that the race detector is on, which makes tests slow.
const underRace = true
