//go:build !unix

package main

func fileLimit() (n uint64, ok bool) { return 0, false }

func ignoreFileSizeSignal() {}
