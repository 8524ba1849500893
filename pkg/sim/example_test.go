package sim_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pa-tools/pa/pkg/sim"
	"github.com/pa-tools/pa/pkg/sim/plan"
)

// The example prints the ledger's writes for a stream of three tokens.
func Example() {
	ctx := context.Background()
	srv, err := sim.Start(ctx, sim.Config{
		TTFT: plan.ConstantDelay(5 * time.Millisecond),
		ITL:  plan.ConstantDelay(2 * time.Millisecond),
		Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	body := `{"messages":[{"role":"user","content":"Say three words"}],"stream":true,"max_tokens":3}`
	resp, err := http.Post(srv.OpenAIURL()+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Println(err)
		return
	}
	received, err := io.ReadAll(resp.Body)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = resp.Body.Close()

	if err := srv.Wait(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range srv.Ledger() {
		fmt.Println(e.ID, e.Protocol, e.End, "input tokens:", e.InputTokens, "output tokens:", e.OutputTokens)
		for _, w := range e.Writes {
			fmt.Printf("due after %v, %d token(s), sent on time or later: %v\n",
				time.Duration(w.DueNS-e.StartedNS), w.Tokens, w.SentNS >= w.DueNS)
		}
		fmt.Println("the ledger has what the client received:", string(e.Sent()) == string(received))
	}
	// Output:
	// chatcmpl-sim-0 openai_chat ok input tokens: 3 output tokens: 3
	// due after 5ms, 0 token(s), sent on time or later: true
	// due after 5ms, 1 token(s), sent on time or later: true
	// due after 7ms, 1 token(s), sent on time or later: true
	// due after 9ms, 1 token(s), sent on time or later: true
	// due after 9ms, 0 token(s), sent on time or later: true
	// the ledger has what the client received: true
}

func ExampleParseDelay() {
	d, err := plan.ParseDelay("lognormal:20ms,5ms")
	fmt.Println(d.Kind, d.Mean, d.Stddev, err)
	_, err = plan.ParseDelay("20")
	fmt.Println(err)
	// Output:
	// lognormal 20ms 5ms <nil>
	// delay "20": time: missing unit in duration "20"; expected 20ms, normal:20ms,2ms or lognormal:20ms,5ms
}
