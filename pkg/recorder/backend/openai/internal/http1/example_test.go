package http1_test

import (
	"fmt"
	"net/http"

	"github.com/pa-tools/pa/pkg/recorder/backend/openai/internal/http1"
)

func Example() {
	reads := []string{
		"HTTP/1.1 200 OK\r\nTransfer-Enc", "oding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n",
		"9\r\ndata", ": b\n\n\r\n0\r\n\r\n",
	}

	var p http1.Parser
	p.Reset(http.MethodPost)
	for i, read := range reads {
		p.Feed([]byte(read))
		event := p.Next()
		for ; event == http1.Head || event == http1.Data; event = p.Next() {
			if event == http1.Head {
				fmt.Printf("read %d: %s\n", i, p.Response().Status)
				continue
			}
			fmt.Printf("read %d: %q\n", i, p.Data())
		}
		if event == http1.End {
			fmt.Printf("read %d: end, reusable: %v\n", i, p.Reusable())
		}
	}
	// Output:
	// read 1: 200 OK
	// read 1: "data: a\n\n"
	// read 2: "data"
	// read 3: ": b\n\n"
	// read 3: end, reusable: true
}
