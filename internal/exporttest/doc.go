// Package exporttest reads exports in tests.
package exporttest
