package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/analyze"
	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

var (
	updateFaults = flag.Bool("update", false, "write cmd/pa-record/testdata/faults.md")
	oneFault     = flag.String("fault", "", "run only the faults whose text contains this, and leave out the check of the page")
)

// A fault is something that goes wrong between a server and pa-record, and what pa-record
// makes of it: a line of cmd/pa-record/testdata/faults.md.
type fault struct {
	does   string        // what the server does
	advice string        // what to do about it
	flags  string        // of pa-record, beside the flags of the via
	limit  time.Duration // --request-timeout, which is long if this is 0

	// How the server does it. A via without a way is left out.
	cert   func(c *testCerts) tls.Certificate // in the handshake of a connection, as a TLS server
	tls    bool                               // all is over TLS
	tls12  bool                               // the connection is a tapped one with TLS 1.2
	floods bool                               // the answer has no end; the run is alone, and its memory is measured
	sim    string                             // by the fault of a simulated server
	conn   func(nc net.Conn)                  // to a connection, before it speaks a protocol
	gone   bool                               // by closing its port after the first request, for good
	name   func(m *dnsmessage.Message) bool   // by the answers for its name after the first request: it changes a good one, or returns false for none
	http1  *answer1                           // over HTTP/1.1, as an OpenAI server
	triton *answer1                           // over HTTP/1.1, as Triton
	http2  func(s stream2) error              // over HTTP/2, as an OpenAI server
	grpc   func(s stream2) error              // over a stream of gRPC, as Triton
	unary  func(s stream2) error              // over a unary call of gRPC, as Triton
	on     []via                              // the vias that are not of a protocol

	want     export.Status         // of the row; the zero value means ok
	except   map[via]export.Status // where it is another
	persists map[via]export.Status // where each request suffers, if that is another

	rows []faultRow // what was recorded
}

// status returns the status that the row must have over v.
func (f *fault) status(v via) export.Status {
	if s, ok := where(f.except, v); ok {
		return unaryStatus(s, v)
	}
	return unaryStatus(max(f.want, export.StatusOK), v)
}

// where returns the status over v. A unary call of gRPC without a status of its own has the status of a
// stream.
func where(m map[via]export.Status, v via) (s export.Status, ok bool) {
	s, ok = m[v]
	if !ok && v == viaUnary {
		s, ok = m[viaGRPC]
	}
	return s, ok
}

// unaryStatus returns the status over v of a fault that has the status s over a stream of gRPC.
// grpc-go returns the message of a unary call when the call is over, so no answer to a unary call is
// truncated.
func unaryStatus(s export.Status, v via) export.Status {
	if v == viaUnary && s == export.StatusTruncated {
		return export.StatusRPCError
	}
	return s
}

// lasts reports whether the requests after the second suffer the fault, too.
func (f *fault) lasts() bool { return f.gone || f.name != nil }

// connects reports whether the fault is one of connecting, and not of the answer to a request.
func (f *fault) connects() bool { return f.conn != nil || f.cert != nil || f.lasts() }

// over returns the vias of the fault.
func (f *fault) over() []via {
	var all []via
	for _, v := range vias {
		switch {
		case f.tls && v == viaLoop: // has no TLS
		case slices.Contains(f.on, v), f.http1 != nil && (v == viaLoop || v == viaNetHTTP),
			f.triton != nil && v == viaTriton, f.http2 != nil && v == viaHTTP2, f.grpc != nil && v == viaGRPC, f.unary != nil && v == viaUnary:
			all = append(all, v)
		}
	}
	return all
}

// longest bounds a run of the matrix. A run takes a few milliseconds, or the --request-timeout;
// a flood takes seconds on a busy machine.
const longest = 2 * time.Minute

// A faultRun is one run of pa-record against a server with a fault.
type faultRun struct {
	f       *fault
	v       via
	always  bool // all requests suffer the fault, else the second of three
	dir     string
	addr    string
	prompts string // the file of the requests for the simulated model vllm
	server  *faultServer

	certs *testCerts
	heap  uint64 // bytes by which the heap grew; 0 if that was not measured

	code   int
	stderr string
	hangs  bool
}

// export returns the path of the run's export.
func (r *faultRun) export() string { return filepath.Join(r.dir, "x.json") }

// clockTime matches a time in a message about a certificate.
var clockTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// hidden returns text with HOST:PORT for the server's address, and TIME for times.
func (r *faultRun) hidden(text string) string {
	text = clockTime.ReplaceAllString(text, "TIME")
	if r.v.isGRPC() && (r.f.sim == "truncate" || r.f.sim == "no_reply") {
		// The kernel says either, by whether the server had read all before it closed.
		text = strings.ReplaceAll(text, "the end of the answer: EOF", "the end of the answer: connection reset by peer")
	}
	if r.addr == "" {
		return text
	}
	return strings.ReplaceAll(text, r.addr, "HOST:PORT")
}

// do runs pa-record.
func (r *faultRun) do(t *testing.T) {
	model, url := "early", r.addr
	if r.f.sim != "" {
		model = map[via]string{viaTriton: "add_sub", viaUnary: "add_sub", viaGRPC: "vllm"}[r.v]
		rule := r.f.sim
		if !r.always {
			rule += ":every=2"
		}
		url = "sim://?ttft=10ms&itl=10ms&output_tokens=6&fault=" + rule
	}
	limit := "1m"
	if r.f.limit > 0 {
		limit = r.f.limit.String()
	}
	n := "3"
	if r.always {
		n = "2"
	}
	if model == "vllm" {
		model += " --input-data " + r.prompts
	}
	if r.f.tls {
		model += " --ssl-https-ca-certificates-file " + r.certs.path("ca.pem")
		url = "https://" + url
		if r.v.isGRPC() {
			model += " --ssl-grpc-root-certifications-file " + r.certs.path("ca.pem")
			url = "grpcs" + strings.TrimPrefix(url, "https")
		}
	}
	args := slices.Concat(r.v.args(), strings.Fields(r.f.flags), []string{"-u", url, "--request-timeout", limit, "--request-count", n, "--profile-export-file", r.export()})
	if model != "" {
		args = append(args, strings.Fields("-m "+model)...)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.code, _, r.stderr = inProcess(t.Context(), t, args...)
	}()
	select {
	case <-ended:
	case <-time.After(longest):
		r.hangs = true
	}
}

// check checks the export of a run and returns the outcome of the requests that suffered the fault.
func (r *faultRun) check(t *testing.T) (got outcome) {
	if r.hangs {
		t.Fatalf("pa-record did not end within %v", longest)
	}
	want := r.f.status(r.v)
	if s, ok := where(r.f.persists, r.v); ok && r.always {
		want = s
	}
	if wantCode := map[bool]int{true: 1}[r.always && want != export.StatusOK]; r.code != wantCode {
		t.Fatalf("exit code %d, want %d: %s", r.code, wantCode, r.stderr)
	}
	run, all := exporttest.Read(t, r.export())
	if left, _ := filepath.Glob(filepath.Join(r.dir, "*")); len(left) != 1 {
		t.Errorf("files %q, want the export alone", left)
	}
	if r.f.floods {
		t.Logf("the heap grew by %d bytes", r.heap)
	}
	if r.heap > mostHeap {
		t.Errorf("the heap grew by %d bytes, want at most %d", r.heap, uint64(mostHeap))
	}
	n := 0
	for i := range all {
		q := &all[i]
		if !r.always && (q.ID < 2 || q.ID > 2 && !r.f.lasts()) {
			if q.Status != export.StatusOK {
				t.Errorf("request %d, which suffers nothing: %v, %q", q.ID, q.Status, q.Message)
			}
			continue
		}
		n++
		if r.f.floods && r.v == viaGRPC {
			q.FirstByteNS = 0 // kept or not, depending on the moment at which the library ends the stream
		}
		got = outcome{q.Status, q.Code, r.hidden(q.Message), kept(q), q.Resent}
		if q.Status != want {
			t.Errorf("request %d: %v, %q; want %v", q.ID, q.Status, q.Message, want)
		}
		checkFaultTimes(t, run, q)
	}
	if n == 0 {
		t.Errorf("no request suffered the fault: %d in all", len(all))
	}
	r.checkReport(t, &got, len(all), n)
	return got
}

// checkFaultTimes checks that the times of a row are in order and within the run.
func checkFaultTimes(t *testing.T, run *export.Run, q *export.Request) {
	t.Helper()
	times := []uint64{q.IssuedNS}
	for _, ns := range []uint64{q.StartNS, q.FirstByteNS} {
		if ns != 0 {
			times = append(times, ns)
		}
	}
	for i := range q.Responses {
		times = append(times, q.Responses[i].RecvNS)
	}
	if len(q.Responses) == 0 || q.Status != export.StatusOK {
		times = append(times, q.FailedNS)
	}
	times = append(times, run.Meta.EndNS)
	if q.IssuedNS == 0 || !slices.IsSorted(times) {
		t.Errorf("request %d: issued, start, first byte, responses, end, end of the run: %v", q.ID, times)
	}
	if q.SentNS != 0 && q.SentNS < q.StartNS {
		t.Errorf("request %d: the last byte left at %d, before the first at %d", q.ID, q.SentNS, q.StartNS)
	}
}

// checkReport checks that pa-record's console and pa-analyze's report show the outcome got for n
// of all requests.
func (r *faultRun) checkReport(t *testing.T, got *outcome, all, n int) {
	t.Helper()
	failed := got.status != export.StatusOK
	report, err := analyze.Run(t.Context(), exporttest.Open(t, r.export()), analyze.Config{})
	if err != nil || len(report.Experiments) != 1 {
		t.Fatalf("report: %v", err)
	}
	var counts []figure.Count
	ok := all
	if failed {
		counts, ok = []figure.Count{{Name: got.status.String(), N: n}}, all-n
	}
	x := report.Experiments[0]
	if diff := cmp.Diff(counts, x.Failed); diff != "" || x.OK != ok {
		t.Errorf("the report: %d are ok, want %d; failed (-want +got):\n%s", x.OK, ok, diff)
	}
	said := ""
	switch {
	case failed && r.always:
		said = fmt.Sprintf("requests failed: %s: %s", got.class(), got.message)
	case failed:
		said = fmt.Sprintf("warning: concurrency 1: %d of %d requests failed", n, all)
	}
	stderr := r.hidden(r.stderr)
	if !strings.Contains(stderr, said) || !failed && strings.Contains(stderr, "failed") {
		t.Errorf("pa-record does not say %q:\n%s", said, stderr)
	}
}

// mostHeap bounds what the heap grows by in a run with --max-answer-memory 1 MiB, the server and
// the garbage of 16 MiB of a gRPC window included.
const mostHeap = 64 << 20

// heapGrowth returns by how many bytes the objects on the heap grew at most while f ran.
func heapGrowth(f func()) (growth uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // garbage counts, too
	runtime.GC()
	before, most := read(), uint64(0)
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			most = max(most, read())
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	f()
	close(done)
	<-sampled
	return most - min(most, before)
}

// slow says that only make test-long runs the fault, because its runs take their time one after the
// other. One flood stays in make test.
func (f *fault) slow() bool { return (f.floods || f.lasts()) && f.does != "PING without end" }

// atOnce is the number of runs of the matrix at a time. Runs wait most of the time.
const atOnce = 16

// Each fault has its status, message and times in the row of the request that suffers it.
// Requests before and after it succeed. The run ends in time, with exit code 0 if other requests
// succeed and 1 if none does.
func TestFaults(t *testing.T) {
	prompts := filepath.Join(t.TempDir(), "prompts.json")
	if err := os.WriteFile(prompts, []byte(`{"data":[{"text_input":["Hi"],"stream":[true],"sampling_parameters":["{}"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	certs := newTestCerts(t)
	groups := faultGroups()
	whole := testenv.IsLong() || *updateFaults || *oneFault != ""
	var runs, alone []*faultRun
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for _, g := range groups {
		for i := range g.faults {
			f := &g.faults[i]
			if !strings.Contains(f.does, *oneFault) || f.slow() && !whole {
				continue
			}
			// In make test, each fault comes over one via, in turn. The first fault of a group and
			// every eighth fault from the fifth on, except floods, also hit all requests of a run.
			over, every := f.over(), whole || (i == 0 || i%8 == 4) && !f.floods
			if !whole {
				over = over[i%len(over):][:1]
			}
			for _, v := range over {
				for _, always := range []bool{false, true} {
					if always && (f.connects() || !every) {
						continue
					}
					r := &faultRun{f: f, v: v, always: always, dir: t.TempDir(), prompts: prompts, certs: certs}
					runs = append(runs, r)
					if f.sim == "" {
						r.server = newFaultServer(r)
						r.addr = r.server.start(t)
					}
					if f.floods || f.lasts() { // a port that was closed must not become another server's
						alone = append(alone, r)
						continue
					}
					running.Go(func() {
						slots <- struct{}{}
						defer func() { <-slots }()
						r.do(t)
					})
				}
			}
		}
	}
	running.Wait()
	resolver := net.DefaultResolver
	for _, r := range alone {
		ctx, over := context.WithCancel(t.Context())
		if r.f.name != nil {
			net.DefaultResolver = r.server.resolver(ctx)
		}
		r.heap = heapGrowth(func() { r.do(t) })
		net.DefaultResolver = resolver
		over()
	}
	for _, r := range runs {
		name := fmt.Sprintf("%s/%s", r.f.does, strings.ReplaceAll(string(r.v), "/", ""))
		if r.always {
			name += "/always"
		}
		t.Run(name, func(t *testing.T) {
			if o := r.check(t); !r.always {
				r.f.rows = addOutcome(r.f.rows, r.v, o)
			}
		})
	}
	if *oneFault == "" {
		checkFaultsPage(t, writeFaultsPage(groups), whole)
	}
}

// faultsPage is the golden that TestFaults writes.
const faultsPage = "testdata/faults.md"

// checkFaultsPage compares the page with the recorded outcomes, or writes it with -update. If the
// faults are not whole, each recorded outcome must be on the page, over at least the vias of its line.
func checkFaultsPage(t *testing.T, want string, whole bool) {
	t.Helper()
	if *updateFaults {
		if err := os.WriteFile(faultsPage, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(faultsPage)
	if err != nil {
		t.Fatal(err)
	}
	page, recorded := faultLines(string(got)), faultLines(want)
	if !whole {
		recorded = slices.DeleteFunc(recorded, func(r faultLine) bool {
			return slices.ContainsFunc(page, func(p faultLine) bool {
				missing := slices.ContainsFunc(r.Over, func(v string) bool { return !slices.Contains(p.Over, v) })
				return !missing && p.Does == r.Does && p.Rest == r.Rest
			})
		})
		page = page[:0] // make test runs only some of the vias on the page
	}
	if diff := cmp.Diff(page, recorded); diff != "" {
		t.Errorf("%s (-page +recorded; go test ./cmd/pa-record -run TestFaults -update writes it):\n%s", faultsPage, diff)
	}
}

// A faultLine is a line of the page. Does and Over are empty for text between the tables.
type faultLine struct {
	Does string
	Over []string
	Rest string
}

// faultLines returns the lines of a page. A line of a table without a fault has the fault above it.
func faultLines(page string) []faultLine {
	var lines []faultLine
	does := ""
	for text := range strings.Lines(page) {
		cells := strings.SplitN(strings.TrimPrefix(text, "|"), " | ", 3)
		if !strings.HasPrefix(text, "| ") || len(cells) < 3 {
			lines = append(lines, faultLine{Rest: text})
			continue
		}
		if name := strings.TrimSpace(cells[0]); name != "" {
			does = name
		}
		lines = append(lines, faultLine{Does: does, Over: strings.Split(cells[1], ", "), Rest: cells[2]})
	}
	return lines
}
