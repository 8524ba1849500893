//go:build !race

package columnar

const slowdown = 1
