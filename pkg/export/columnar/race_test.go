//go:build race

package columnar

// slowdown thins out what takes ten times as long under the race detector.
const slowdown = 11
