//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// Names of figures of a recording.
const (
	eventCPU    = "CPU µs/event" // while load was on
	sharedReads = "shared a read %"
	startP50    = "start p50 µs" // of the errors of starts
	startP99    = "start p99 µs"
)

// A job is one recording.
type job struct {
	service   string // "openai" or "grpc"
	transport string // of openai
	streams   int
	judge     bool // whether to compare its times with the server's
}

// recording returns the arguments that record answers of that many tokens over OpenAI HTTP into a file.
func recording(srv *server, file string, tokens int) []string {
	return []string{
		"--service-kind", "openai", "-m", "sim", "-u", srv.openAI, "--streaming", "--extra-body", fmt.Sprintf(`{"max_tokens":%d,"ignore_eos":true}`, tokens),
		"--profile-export-file", file, "--overwrite", "--quiet",
	}
}

// recordingGRPC returns the arguments that record answers of that many tokens over Triton gRPC into a file.
func (s *suite) recordingGRPC(srv *server, file string, tokens int) ([]string, error) {
	prompts := filepath.Join(s.dir, "prompts.json")
	text := fmt.Sprintf(`{"data":[{"text_input":["x"],"stream":[true],"sampling_parameters":["{\"max_tokens\":%d,\"ignore_eos\":true}"]}]}`, tokens)
	return []string{
		"-m", "vllm", "-i", "grpc", "-u", srv.tritonGRPC, "--input-data", prompts, "--streaming",
		"--profile-export-file", file, "--overwrite", "--quiet",
	}, os.WriteFile(prompts, []byte(text), 0o600)
}

func (s *suite) runRecord(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, s.record, args...)
	cmd.Stderr = s.log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %q: %w", s.record, args, err)
	}
	return nil
}

// readExport calls do for each request of an export, and returns its header.
func readExport(ctx context.Context, file string, do func(*export.Request) error) (_ *export.Run, err error) {
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		if err := do(r.Request()); err != nil {
			return nil, err
		}
	}
	return r.Run(), r.Err()
}

// recordOnce runs j against srv and returns its figures.
func (s *suite) recordOnce(ctx context.Context, srv *server, j job) (figures, error) {
	file := filepath.Join(s.dir, "run.arrow")
	args := append(recording(srv, file, s.tokens), "--transport", j.transport)
	if j.service == "grpc" {
		var err error
		if args, err = s.recordingGRPC(srv, file, s.tokens); err != nil {
			return nil, err
		}
	}
	args = append(args, "--concurrency-range", strconv.Itoa(j.streams), "--request-count", strconv.Itoa(j.streams*s.rounds))
	if err := s.runRecord(ctx, args); err != nil {
		return nil, err
	}
	serverCPU := processCPU(srv.cmd.Process.Pid) // before it answers with its ledger
	var entries map[string]entry
	if j.judge {
		var err error
		if entries, err = srv.ledger(ctx); err != nil {
			return nil, err
		}
	}
	f, events, err := judge(ctx, file, j, entries)
	if err == nil {
		f["CPU µs/event of the server"] = float64(serverCPU.Microseconds()) / events
	}
	return f, err
}

// judge compares an export with the server's ledger. It also returns the number of events.
func judge(ctx context.Context, file string, j job, entries map[string]entry) (f figures, events float64, err error) {
	var reads readCount
	var received, alone, start, paces []float64
	run, err := readExport(ctx, file, func(q *export.Request) error {
		reads.add(q)
		if !j.judge {
			return nil
		}
		e, ok := entries[j.id(q)]
		if !ok {
			return fmt.Errorf("request %d is not in the ledger", q.ID)
		}
		if e.ReceivedNS != 0 {
			start = append(start, errorUS(q.StartNS, e.ReceivedNS))
		}
		before := len(received)
		for i := range q.Responses {
			us, ok := e.errorOf(q, i)
			if j.service == "openai" {
				us, ok = textError(&q.Responses[i])
			}
			if !ok {
				continue
			}
			received = append(received, us)
			if lastOfRead(q, i) {
				alone = append(alone, us)
			}
		}
		paces = append(paces, paceOf(q, len(received)-before))
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	if j.judge && (len(received) < reads.events/2 || len(start) == 0) {
		return nil, 0, fmt.Errorf("only %d of %d events and %d starts can be compared", len(received), reads.events, len(start))
	}
	slices.Sort(start)
	events = float64(reads.events)
	f = figures{
		sharedReads: 100 * float64(reads.shared) / events, "tokens/s of a stream": median(paces),
		startP50: quantile(start, 0.5), startP99: quantile(start, 0.99),
	}
	setErrors(f, received, alone)
	for _, e := range run.Experiments {
		if e.Meta == nil || e.Meta.Client == nil {
			continue
		}
		if c := e.Meta.Client.CPU; c != nil {
			f[eventCPU] = float64(c.UserNS+c.SystemNS) / 1e3 / events
		}
		f["memory MB"] = max(f["memory MB"], float64(e.Meta.Client.MaxRSSBytes)/1e6)
		// From the end of a request to the start of the next one of its slot.
		if t := e.Meta.Client.Turnaround; t != nil {
			f["turnaround p50 µs"], f["turnaround p99 µs"] = float64(t.P50NS)/1e3, float64(t.P99NS)/1e3
		}
	}
	return f, events, nil
}

// A readCount counts events, and events that arrived in the same read as the previous one.
type readCount struct{ events, shared int }

// add counts a request's responses.
func (c *readCount) add(q *export.Request) {
	c.events += len(q.Responses)
	for i := range q.Responses {
		if i > 0 && q.Responses[i].Read == q.Responses[i-1].Read {
			c.shared++
		}
	}
}

// paceOf returns the tokens per second of an answer after its first token; 0 if it has
// fewer than two. The events before the first token and after the last one come with them.
func paceOf(q *export.Request, tokens int) float64 {
	if tokens < 2 {
		return 0
	}
	first, last := q.Responses[0].RecvNS, q.Responses[len(q.Responses)-1].RecvNS
	return float64(tokens-1) / (float64(last-first) / 1e9)
}

// textError returns the error against the time in the text of a response. ok is false if it has none.
func textError(p *export.Response) (us float64, ok bool) {
	v, _ := p.Outputs.Get("response")
	ns, ok := stampIn(v.Data)
	return errorUS(p.RecvNS, ns), ok
}

// errorOf returns the error of response i against the time at which the server's kernel sent the message. ok is false if the
// ledger does not have it.
func (e *entry) errorOf(q *export.Request, i int) (us float64, ok bool) {
	if len(e.Writes) != len(q.Responses) || e.Writes[i].KernelNS == 0 {
		return 0, false
	}
	return errorUS(q.Responses[i].RecvNS, e.Writes[i].KernelNS), true
}

// lastOfRead reports whether response i is the last one of its read.
func lastOfRead(q *export.Request, i int) bool {
	return i+1 == len(q.Responses) || q.Responses[i+1].Read != q.Responses[i].Read
}

// id returns the name of a request in the ledger.
func (j *job) id(q *export.Request) string {
	if j.service != "openai" {
		return strconv.FormatUint(q.ID, 10)
	}
	id, _ := exporttest.AnswerID(q)
	return id
}
