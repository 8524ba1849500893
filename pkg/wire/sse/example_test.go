package sse_test

import (
	"fmt"

	"github.com/pa-tools/pa/pkg/wire/sse"
)

func Example() {
	reads := []string{"data: {\"text\":", "\"Hel\"}\n\n: keep-alive\n\nda", "ta: [DONE]\n\n"}

	var s sse.Splitter
	for i, p := range reads {
		s.Feed([]byte(p))
		for s.Next() {
			switch e := sse.Parse(s.Frame()); {
			case e.Comment:
				fmt.Printf("read %d: comment\n", i)
			case e.HasData:
				fmt.Printf("read %d: data %s\n", i, e.Data)
			}
		}
	}
	fmt.Printf("rest: %q\n", s.Rest())
	// Output:
	// read 1: data {"text":"Hel"}
	// read 1: comment
	// read 2: data [DONE]
	// rest: ""
}
