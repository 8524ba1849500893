package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

func Example() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[{"id":"tiny"}]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n")
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	defer srv.Close()

	if err := send(context.Background(), srv.URL); err != nil {
		fmt.Println(err)
	}
	// Output:
	// sent {"messages":[],"stream":true,"model":"tiny"}
	// ok 200
	// "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n" false
	// "data: [DONE]\n\n" true
}

func send(ctx context.Context, url string) error {
	b, err := openai.New(openai.Config{URL: url, Streaming: true})
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Check(ctx); err != nil {
		return err
	}
	p, err := b.Prepare(&workload.Entry{Values: export.Fields{{Name: "payload", Value: export.JSON(`[{"messages":[]}]`)}}})
	if err != nil {
		return err
	}
	fmt.Printf("sent %s\n", p.Inputs()[0].Value.Data)
	s, err := b.Open(ctx, 0, rxclock.New())
	if err != nil {
		return err
	}
	defer s.Close()

	var x backend.Exchange
	s.Send(ctx, p, &x)
	if err := b.Decode(&x); err != nil {
		return err
	}
	fmt.Println(x.Request.Status, x.Request.Code)
	for _, r := range x.Request.Responses {
		fmt.Printf("%q %v\n", r.Outputs[0].Value.Data, r.Final)
	}
	return nil
}
