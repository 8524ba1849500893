// Package memrun holds a run in memory and reads it as an export.Reader, for tests. It
// also makes requests in short form, and random ones.
package memrun
