package kserve_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/backend/kserve"
)

// All mistakes that need no server are reported at once, before anything is
// connected.
func ExampleNew() {
	_, err := kserve.New(kserve.Config{URL: "localhost:8000", Streaming: true, BatchSize: -1})
	fmt.Println(err)
	// Output:
	// no model; name it with -m
	// batch size -1: must be at least 1
	// streaming needs gRPC; use -i grpc
}
