// Package exporttest reads and writes exports in tests.
package exporttest
