//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// bareMode as the first argument makes the process the bare client.
const bareMode = "bare"

// body is the request of the bare client; pa-record sends an equivalent one.
const body = `{"model":"sim","messages":[{"role":"user","content":"hi"}],"stream":true,"max_tokens":%d,"ignore_eos":true}`

// bareMain runs the bare client and prints its figures as JSON.
func bareMain(ctx context.Context, args []string, stdout, _ io.Writer) error {
	fs := flag.NewFlagSet(bareMode, flag.ContinueOnError)
	url := fs.String("url", "", "server")
	streams := fs.Int("streams", 1, "streams")
	rounds := fs.Int("rounds", 1, "requests per stream")
	tokens := fs.Int("tokens", 1, "tokens per request")
	judge := fs.Bool("judge", false, "compare times with the server's")
	if err := fs.Parse(args); err != nil {
		return err
	}
	debug.SetGCPercent(400) // as pa-record
	c := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: *streams, DisableCompression: true, ReadBufferSize: 16 << 10,
	}}
	request := fmt.Appendf(nil, body, *tokens)
	results := make([]bareStream, *streams)
	before := testenv.CPUTime()
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			r := &results[i]
			r.judge = *judge
			for range *rounds {
				if r.err = r.once(ctx, c, *url+"/v1/chat/completions", request); r.err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	cpu := testenv.CPUTime() - before
	events, shared := 0, 0
	var errs, alone []float64
	for i := range results {
		r := &results[i]
		if r.err != nil {
			return fmt.Errorf("stream %d: %w", i, r.err)
		}
		events += r.events
		shared += r.shared
		errs = append(errs, r.errorsUS...)
		alone = append(alone, r.aloneUS...)
	}
	f := figures{eventCPU: float64(cpu) / 1e3 / float64(events), sharedReads: 100 * float64(shared) / float64(events)}
	setErrors(f, errs, alone)
	return json.NewEncoder(stdout).Encode(f)
}

// A bareStream holds the state and the results of a stream.
type bareStream struct {
	judge          bool
	events, shared int
	errorsUS       []float64
	aloneUS        []float64 // of the last event of each read
	err            error
	buf            []byte
}

func (r *bareStream) once(ctx context.Context, c *http.Client, url string, request []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(request))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	if r.buf == nil {
		r.buf = make([]byte, 32<<10)
	}
	held := 0 // bytes of an incomplete event
	for {
		n, err := resp.Body.Read(r.buf[held:])
		now := uint64(time.Now().UnixNano())
		rest := r.buf[:held+n]
		last := -1.0 // error of the last event
		for first := true; ; first = false {
			i := bytes.Index(rest, []byte("\n\n"))
			if i < 0 {
				break
			}
			last = -1
			r.events++
			if !first {
				r.shared++
			}
			if r.judge {
				if ns, ok := stampIn(rest[:i]); ok {
					last = errorUS(now, ns)
					r.errorsUS = append(r.errorsUS, last)
				}
			}
			rest = rest[i+2:]
		}
		if last >= 0 {
			r.aloneUS = append(r.aloneUS, last)
		}
		held = copy(r.buf, rest)
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
