package main

import (
	"os"
	"testing"
)

// The shell of every distribution that CI uses is dynamically linked.
func TestLinkageDynamic(t *testing.T) {
	sh, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := linkage(sh); err == nil {
		t.Error("linkage(/bin/sh) = static, want an error")
	}
}
