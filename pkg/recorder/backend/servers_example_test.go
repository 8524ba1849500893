package backend_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
)

// Two servers behind one backend.
func ExampleRoundRobin() {
	var targets []backend.Target
	for _, url := range []string{"http://127.0.0.1:8000", "http://127.0.0.1:8001"} {
		b, err := openai.New(openai.Config{URL: url, Model: "m"})
		if err != nil {
			fmt.Println(err)
			return
		}
		targets = append(targets, backend.Target{Name: url, Backend: b})
	}
	b, err := backend.RoundRobin(targets, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	fmt.Println(b.Model())
	// Output: m
}
