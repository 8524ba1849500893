//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/formats"
)

// A job is one recording.
type job struct {
	service   string // "openai" or "grpc"
	transport string // of openai
	streams   int
	judge     bool // whether to compare its times with the server's
}

// recordOnce runs j against srv and returns its figures.
func (s *suite) recordOnce(ctx context.Context, srv *server, j job) (f figures, err error) {
	file := filepath.Join(s.dir, "run.arrow")
	args := []string{
		"--concurrency-range", strconv.Itoa(j.streams), "--request-count", strconv.Itoa(j.streams * s.rounds),
		"--profile-export-file", file, "--overwrite", "--quiet", "--streaming",
	}
	if j.service == "openai" {
		args = append(args, "--service-kind", "openai", "-m", "sim", "-u", srv.openAI, "--transport", j.transport,
			"--extra-body", fmt.Sprintf(`{"max_tokens":%d,"ignore_eos":true}`, s.tokens))
	} else {
		prompts := filepath.Join(s.dir, "prompts.json")
		text := fmt.Sprintf(`{"data":[{"text_input":["x"],"stream":[true],"sampling_parameters":["{\"max_tokens\":%d}"]}]}`, s.tokens)
		if err := os.WriteFile(prompts, []byte(text), 0o600); err != nil {
			return f, err
		}
		args = append(args, "-m", "vllm", "-i", "grpc", "-u", srv.tritonGRPC, "--input-data", prompts)
	}
	cmd := exec.CommandContext(ctx, s.record, args...)
	cmd.Stderr = s.log
	if err := cmd.Run(); err != nil {
		return f, fmt.Errorf("%s %q: %w", s.record, args, err)
	}
	serverCPU := processCPU(srv.cmd.Process.Pid) // before it answers with its ledger
	var entries map[string]entry
	if j.judge {
		if entries, err = srv.ledger(ctx); err != nil {
			return f, err
		}
	}
	if f, err = judge(ctx, file, j, entries); err == nil {
		f.ServerCPUus = float64(serverCPU.Microseconds()) / float64(f.Events)
	}
	return f, err
}

// judge compares an export with the server's ledger.
func judge(ctx context.Context, file string, j job, entries map[string]entry) (f figures, err error) {
	o := export.Opener{Formats: formats.Readers()}
	r, err := o.Open(ctx, file)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var recv, alone, start, paces []float64
	for r.Next() {
		q := r.Request()
		f.count(q)
		if !j.judge {
			continue
		}
		e, ok := entries[j.id(q)]
		if !ok {
			return f, fmt.Errorf("request %d is not in the ledger", q.ID)
		}
		if e.ReceivedNS != 0 {
			start = append(start, errorUS(q.StartNS, e.ReceivedNS))
		}
		if j.service == "openai" {
			before := len(recv)
			recv, alone = textErrors(q, recv, alone)
			paces = append(paces, paceOf(q, len(recv)-before))
		} else {
			recv, alone = sendErrors(q, &e, recv, alone)
		}
	}
	if err := r.Err(); err != nil {
		return f, err
	}
	if j.judge && (len(recv) < f.Events/2 || len(start) == 0) {
		return f, fmt.Errorf("only %d of %d events and %d starts can be compared", len(recv), f.Events, len(start))
	}
	f.setErrors(recv, alone)
	f.Pace = median(paces)
	slices.Sort(start)
	f.StartP50, f.StartP99, f.Starts = quantile(start, 0.5), quantile(start, 0.99), len(start)
	for _, e := range r.Run().Experiments {
		if e.Meta == nil || e.Meta.Client == nil {
			continue
		}
		if c := e.Meta.Client.CPU; c != nil {
			f.CPUus = float64(c.UserNS+c.SystemNS) / 1e3 / float64(f.Events)
		}
		f.PeakMB = max(f.PeakMB, float64(e.Meta.Client.MaxRSSBytes)/1e6)
		if t := e.Meta.Client.Turnaround; t != nil {
			f.TurnP50, f.TurnP99 = float64(t.P50NS)/1e3, float64(t.P99NS)/1e3
		}
	}
	return f, nil
}

// count adds a request's responses.
func (f *figures) count(q *export.Request) {
	f.Events += len(q.Responses)
	for i := range q.Responses {
		if i > 0 && q.Responses[i].Read == q.Responses[i-1].Read {
			f.Shared++
		}
		if q.Responses[i].Source != export.SourceKernel {
			f.User++
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

// textErrors appends the errors against the times in the texts.
func textErrors(q *export.Request, all, alone []float64) (all2, alone2 []float64) {
	for i := range q.Responses {
		p := &q.Responses[i]
		v, _ := p.Outputs.Get("response")
		ns, ok := stampIn(v.Data)
		if !ok {
			continue
		}
		all = append(all, errorUS(p.RecvNS, ns))
		if lastOfRead(q, i) {
			alone = append(alone, errorUS(p.RecvNS, ns))
		}
	}
	return all, alone
}

// sendErrors appends the errors against when the server's kernel sent each
// message.
func sendErrors(q *export.Request, e *entry, all, alone []float64) (all2, alone2 []float64) {
	if len(e.Writes) != len(q.Responses) {
		return all, alone
	}
	for i, w := range e.Writes {
		if w.KernelNS == 0 {
			continue
		}
		us := errorUS(q.Responses[i].RecvNS, w.KernelNS)
		all = append(all, us)
		if lastOfRead(q, i) {
			alone = append(alone, us)
		}
	}
	return all, alone
}

// lastOfRead reports whether response i is the last one of its read.
func lastOfRead(q *export.Request, i int) bool {
	return i+1 == len(q.Responses) || q.Responses[i+1].Read != q.Responses[i].Read
}

var answerID = regexp.MustCompile(`"id": ?"([^"]+)"`)

// id returns the name of a request in the ledger.
func (j *job) id(q *export.Request) string {
	if j.service != "openai" {
		return strconv.FormatUint(q.ID, 10)
	}
	if len(q.Responses) == 0 {
		return ""
	}
	v, _ := q.Responses[0].Outputs.Get("response")
	m := answerID.FindSubmatch(v.Data)
	if m == nil {
		return ""
	}
	return string(m[1])
}
