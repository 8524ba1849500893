//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// Names of figures of a client of the section peers.
const (
	gapP99    = "gap p99 µs" // of the errors of the times between tokens
	gapP999   = "gap p99.9 µs"
	tokenCPU  = "CPU µs/token" // of the whole process
	loadPSS   = "PSS MB under load"
	peakPSS   = "peak PSS MB"
	keptRate  = "rate kept %"
	startedMS = "first request after ms"
	reportMS  = "report after ms"
)

// A peer is a client of another tool that this section can run.
type peer struct {
	program string // the base of its path
	args    func(run peerRun) []string
	read    func(io.Reader) (recorded, error)
	lacks   string // why figures are missing
}

// A peerRun is what a client is asked to do.
type peerRun struct {
	url                        string
	prompts, tokenizer, result string // files of the client
	streams, requests, tokens  int
}

var peers = []peer{
	{
		program: "vllm-rs", read: readVLLM,
		args: func(r peerRun) []string {
			return []string{
				"bench", "serve", "--backend", "openai-chat", "--base-url", r.url, "--model", "sim", "--tokenizer", r.tokenizer,
				"--dataset-name", "custom", "--dataset-path", r.prompts, "--custom-output-len", strconv.Itoa(r.tokens), "--ignore-eos",
				"--num-prompts", strconv.Itoa(r.requests), "--max-concurrency", strconv.Itoa(r.streams), "--disable-tqdm",
				"--save-result", "--save-detailed", "--result-dir", filepath.Dir(r.result), "--result-filename", filepath.Base(r.result),
			}
		},
	},
	{
		program: "sglang-bench", read: readSGLang, lacks: "gaps only",
		args: func(r peerRun) []string {
			return []string{
				"--backend", "sglang-oai-chat", "--base-url", r.url, "--model", "sim", "--tokenizer", r.tokenizer,
				"--dataset-name", "random-ids", "--random-input-len", "4", "--random-output-len", strconv.Itoa(r.tokens), "--random-range-ratio", "1",
				"--num-prompts", strconv.Itoa(r.requests), "--max-concurrency", strconv.Itoa(r.streams), "--warmup-requests", "0",
				"--disable-retokenize", "--disable-tqdm", "--output-file", r.result, "--output-details",
			}
		},
	},
}

// comparePeers measures pa-record beside other tools' clients: exactness, CPU time, memory, start-up, and the time to
// the report.
func (s *suite) comparePeers(ctx context.Context) error {
	own := *s
	// A file of its own, so that pa-record shares no page with the server.
	own.record = filepath.Join(s.dir, "simulator")
	if err := copyFile(own.record, s.record); err != nil {
		return err
	}
	var names []string
	var candidates []func(streams int) candidate
	lacks := map[string]string{}
	for _, transport := range []string{loop, netHTTP} {
		name := "pa-record, " + transport
		names = append(names, name)
		candidates = append(candidates, func(streams int) candidate {
			return candidate{name, own.against(func(ctx context.Context, srv *server) (figures, error) {
				file := filepath.Join(s.dir, "peers.json")
				// Not quiet, because the others also print their tables.
				args := slices.DeleteFunc(recording(srv, file, s.tokens), func(arg string) bool { return arg == "--quiet" })
				args = append(args, "--transport", transport, "--concurrency-range", strconv.Itoa(streams), "--request-count", strconv.Itoa(streams*s.rounds))
				return s.runClient(ctx, srv, streams, s.record, args, func() (recorded, error) { return readOwn(ctx, file) })
			})}
		})
	}
	for _, p := range peers {
		name, program := s.installed(p)
		names = append(names, name)
		lacks[name] = p.lacks
		if program == "" {
			lacks[name] = "not installed"
			candidates = append(candidates, func(int) candidate { return candidate{name: name} })
			continue
		}
		candidates = append(candidates, func(streams int) candidate {
			return candidate{name, own.against(func(ctx context.Context, srv *server) (figures, error) {
				return s.runPeer(ctx, srv, p, program, streams)
			})}
		})
	}
	columns := []column{
		middleOf("token p50 µs", "p50 µs", 1), middle("p99 µs", 1), middle("p99.9 µs", 1), middle(gapP99, 1), middleOf("p99.9 µs", gapP999, 1),
		middle(tokenCPU, 1), middle(loadPSS, 0), middle(peakPSS, 0), middle(keptRate, 1), middle(startedMS, 0), middle(reportMS, 0),
	}
	var rows [][]string
	for _, n := range s.streams {
		var all []candidate
		for _, of := range candidates {
			all = append(all, of(n))
		}
		m, err := s.measure(ctx, all...)
		if err != nil {
			return fmt.Errorf("%d streams: %w", n, err)
		}
		for _, row := range m.rows(columns, []string{strconv.Itoa(n)}, names...) {
			rows = append(rows, explain(row, lacks[row[1]]))
		}
	}
	s.table(fmt.Sprintf("Beside other tools' clients: %d rounds of %d tokens, one every %v", s.rounds, s.tokens, gap),
		[]string{"streams", "client"}, columns, rows)
	return nil
}

// explain adds to each cell n/a of a row why the figure is missing.
func explain(row []string, why string) []string {
	for i, cell := range row {
		if cell == number(math.NaN(), 0) && why != "" {
			row[i] = cell + " (" + why + ")"
		}
	}
	return row
}

// installed returns the name and the version of a peer, which are the folder's, and its path. The path is empty if
// -peers lacks it.
func (s *suite) installed(p peer) (name, program string) {
	for _, path := range s.peers {
		if filepath.Base(path) == p.program {
			return filepath.Base(filepath.Dir(path)), path
		}
	}
	return p.program, ""
}

// runPeer runs another tool's client against srv.
func (s *suite) runPeer(ctx context.Context, srv *server, p peer, program string, streams int) (figures, error) {
	r := peerRun{
		url: srv.openAI, prompts: filepath.Join(s.dir, "prompts.jsonl"), tokenizer: s.vocab,
		result: filepath.Join(s.dir, "peer.json"), streams: streams, requests: streams * s.rounds, tokens: s.tokens,
	}
	if err := os.WriteFile(r.prompts, []byte(`{"prompt":"hi"}`+"\n"), 0o600); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(r.result); err != nil { // SGLang's client appends
		return nil, err
	}
	return s.runClient(ctx, srv, streams, program, p.args(r), func() (_ recorded, err error) {
		f, err := os.Open(r.result)
		if err != nil {
			return recorded{}, fmt.Errorf("%s left no result: %w", program, err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		rec, err := p.read(f)
		if err != nil {
			return recorded{}, fmt.Errorf("the result of %s: %w", program, err)
		}
		return rec, nil
	})
}

// runClient runs a client against srv, and reads what it recorded.
func (s *suite) runClient(ctx context.Context, srv *server, streams int, program string, args []string, read func() (recorded, error)) (figures, error) {
	// A client that hangs does not hold up the others.
	limit := time.Minute + 3*time.Duration(s.rounds)*(time.Second+time.Duration(s.tokens)*gap)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var printed bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &printed, &printed
	cmd.WaitDelay = time.Second
	// A proxy is for the installation, and nothing is looked up on a hub.
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "HF_HUB_OFFLINE=1")
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	watched := make(chan []setSize)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	go func() { watched <- watchPSS(cmd.Process.Pid, tick.C, done) }()
	err := cmd.Wait()
	ended := time.Now()
	close(done)
	sizes := <-watched
	if err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = fmt.Errorf("killed after %v: %w", limit, err)
		}
		return nil, fmt.Errorf("%s %q: %w\n%s", program, args, err, printed.Bytes())
	}
	first, err := srv.firstReceived(ctx)
	if err != nil {
		return nil, err
	}
	rec, err := read()
	if err != nil {
		return nil, err
	}
	if err := rec.complete(streams*s.rounds, s.tokens); err != nil {
		return nil, fmt.Errorf("%s %q: %w\n%s", program, args, err, printed.Bytes())
	}
	f := rec.figures()
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	f[tokenCPU] = float64(used.Nanoseconds()) / 1e3 / float64(streams*s.rounds*s.tokens)
	for _, m := range sizes {
		if m.at.UnixNano() <= rec.lastSent() {
			f[loadPSS] = max(f[loadPSS], m.mb)
		}
		f[peakPSS] = max(f[peakPSS], m.mb)
	}
	f[startedMS] = float64(int64(first)-began.UnixNano()) / 1e6
	f[reportMS] = float64(ended.UnixNano()-rec.lastSent()) / 1e6
	fmt.Fprintf(s.log, "%v\n", f)
	return f, nil
}

// readOwn reads what pa-record recorded.
func readOwn(ctx context.Context, file string) (recorded, error) {
	rec := recorded{clock: unixClock}
	_, err := readExport(ctx, file, func(q *export.Request) error {
		var a tokenTimes
		for i := range q.Responses {
			v, _ := q.Responses[i].Outputs.Get("response")
			if ns, ok := stampIn(v.Data); ok {
				a.sent = append(a.sent, int64(ns))
				a.received = append(a.received, int64(q.Responses[i].RecvNS))
			}
		}
		rec.answers = append(rec.answers, a)
		return nil
	})
	return rec, err
}

// firstReceived returns when the server's kernel received the first request, in Unix nanoseconds.
func (v *server) firstReceived(ctx context.Context) (uint64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.openAI+"/ledger", nil)
	if err != nil {
		return 0, err
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	var e entry // the entries are in the order of their arrival
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return e.ReceivedNS, nil
}

// A setSize is the proportional set of a process at a time: a page that processes share counts by its share.
type setSize struct {
	at time.Time
	mb float64
}

// watchPSS returns the proportional sets of a process at ticks until done is closed. To sum up a set takes a walk through
// all pages, so it does that only when more memory is resident than before; none if the kernel does not say it.
func watchPSS(pid int, ticks <-chan time.Time, done <-chan struct{}) (sizes []setSize) {
	most := 0.0 // resident pages
	for {
		select {
		case <-done:
			return sizes
		case <-ticks:
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue
		}
		pages := residentPages(text)
		if pages <= 1.01*most {
			continue
		}
		most = pages
		if text, err = os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)); err == nil {
			sizes = append(sizes, setSize{time.Now(), statusNumber(text, "Pss:") * 1024 / 1e6})
		}
	}
}

// residentPages returns the resident pages in the text of /proc/PID/statm; 0 if it is unreadable.
func residentPages(statm []byte) float64 {
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	n, err := strconv.ParseFloat(string(fields[1]), 64)
	if err != nil {
		return 0
	}
	return n
}
