//go:build !race

package profilejson

const slowdown = 1
