package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/internal/test/golden"
	paanswer "github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

var updateMatrix = flag.Bool("update", false, "write the tables of docs/reference/endpoints.md")

// matrixCases are the cases that each endpoint has, or has a reason not to have. "slow" and "compressed" are made of
// "streamed", or of "whole" at an endpoint that does not stream, unless the endpoint lists its own.
var matrixCases = []string{"whole", "streamed", "tool call", "thinking", "error before", "error within", "cut", "slow", "compressed", "unknown events"}

// A matrix is the answers of one endpoint, and what is recorded of each. A file matrix_NAME_test.go has the matrix of an
// endpoint, and a test that calls run.
type matrix struct {
	config  Config // Endpoint and what the endpoint needs; URL, Transport, HTTP2 and TLS are of the connection
	query   string // of the endpoint; the table leaves it out
	body    string // of each request
	request func(r *http.Request) error
	cases   []matrixCase      // cases of the endpoint alone come after the cases of all
	none    map[string]string // the reasons why the endpoint lacks a case
	// bytes returns the bytes of an answer from the recorded ones; nil if they are recorded as they came.
	bytes func(recorded string) string
}

// A matrixCase is an answer, in pieces that are flushed one by one.
type matrixCase struct {
	name   string
	code   int // 0 is 200
	pieces []string
	cut    bool   // the connection breaks after the pieces
	msg    string // part of the message of a failed request
	want   matrixRow

	contentType string // "" is text/event-stream for events and application/json for other bytes
	slow        bool   // each piece is sent a pause after the piece before arrived
	coding      string // Content-Encoding
}

// A matrixRow is what is recorded of a request. Strings are as the table shows them.
type matrixRow struct {
	status    export.Status // StatusUnknown is StatusOK
	code      int           // 0 is 200
	responses int
	events    int    // token events, with the events of reasoning
	reasoning int    // token events of reasoning
	first     int    // the response at which TTFT ends, from 1; 0: there is no TTFT
	finish    string // the reason of the end, as the server gives it
	usage     string // "12 in, 3 out": the counts that the server states
}

// A matrixServer serves h over one kind of connection.
type matrixServer struct {
	name  string
	serve func(t *testing.T, h http.HandlerFunc) Config
}

func matrixServers() []matrixServer {
	plain := func(tr Transport) func(t *testing.T, h http.HandlerFunc) Config {
		return func(t *testing.T, h http.HandlerFunc) Config { return Config{URL: serve(t, h).URL, Transport: tr} }
	}
	all := []matrixServer{
		{"nethttp", plain(NetHTTP)},
		{"TLS", func(t *testing.T, h http.HandlerFunc) Config {
			srv := httptest.NewUnstartedServer(h)
			srv.Config.ErrorLog = log.New(io.Discard, "", 0)
			srv.StartTLS()
			t.Cleanup(srv.Close)
			pool := x509.NewCertPool()
			pool.AddCert(srv.Certificate())
			return Config{URL: srv.URL, TLS: &tls.Config{RootCAs: pool}}
		}},
		{"HTTP2 TLS", func(t *testing.T, h http.HandlerFunc) Config { return serveHTTP2(t, true, h) }},
		{"HTTP2", func(t *testing.T, h http.HandlerFunc) Config { return serveHTTP2(t, false, h) }},
	}
	if runtime.GOOS == "linux" {
		all = append(all, matrixServer{"loop", plain(Loop)})
	}
	return all
}

// run sends a request for each case over each kind of connection, plain and compressed. All bytes must be recorded as they
// were sent, and all rows must be the ones of the case. Then it compares the table in docs.
func (m matrix) run(t *testing.T) {
	t.Helper()
	m.complete(t)
	t.Run("cells", func(t *testing.T) {
		for _, s := range matrixServers() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				for i := range m.cases {
					c := m.cases[i]
					t.Run(c.name, func(t *testing.T) { m.cell(t, s, &c) })
					if c.coding == "" && !c.slow {
						c.coding = "gzip"
						t.Run(c.name+", gzip", func(t *testing.T) { m.cell(t, s, &c) })
					}
				}
			})
		}
	})
	if !t.Failed() {
		m.page(t)
	}
}

// complete adds the derived cases, puts the cases in order, and checks that each case is there or has a reason.
func (m *matrix) complete(t *testing.T) {
	t.Helper()
	at := func(name string) int {
		return slices.IndexFunc(m.cases, func(c matrixCase) bool { return c.name == name })
	}
	base := max(at("streamed"), at("whole"))
	if i := at("streamed"); i >= 0 {
		base = i
	}
	for _, name := range []string{"slow", "compressed"} {
		if at(name) >= 0 || m.none[name] != "" || base < 0 {
			continue
		}
		c := m.cases[base]
		c.name, c.slow = name, name == "slow"
		if name == "compressed" {
			c.coding = "gzip"
		}
		m.cases = append(m.cases, c)
	}
	for _, name := range matrixCases {
		if (at(name) >= 0) == (m.none[name] != "") {
			t.Errorf("%s: the case %q must be there, or have a reason in none", m.config.Endpoint, name)
		}
	}
	place := func(c *matrixCase) int {
		if i := slices.Index(matrixCases, c.name); i >= 0 {
			return i
		}
		return len(matrixCases)
	}
	slices.SortStableFunc(m.cases, func(a, b matrixCase) int { return cmp.Compare(place(&a), place(&b)) })
}

// inEvents reports whether each piece is an event, which is one response.
func (c *matrixCase) inEvents() bool { return len(c.pieces) > 1 && len(c.pieces) == c.want.responses }

// cellTime is the time after which a cell fails whose exchange does not end by itself.
const cellTime = 10 * time.Second

func (m *matrix) cell(t *testing.T, s matrixServer, c *matrixCase) {
	ctx, cancel := context.WithTimeout(t.Context(), cellTime)
	defer cancel()
	arrived := make(chan int, 1000)
	cfg := s.serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the answer may come before the request is sent
		if got := strings.Trim(r.URL.Path, "/"); got != m.config.Endpoint {
			t.Errorf("a request to %s", got)
		}
		if m.request != nil {
			if err := m.request(r); err != nil {
				t.Error(err)
			}
		}
		kind := "application/json"
		if strings.HasPrefix(c.pieces[0], "data:") || strings.HasPrefix(c.pieces[0], "event:") {
			kind = "text/event-stream"
		}
		w.Header().Set("Content-Type", cmp.Or(c.contentType, kind))
		pieces := c.pieces
		if c.coding != "" {
			w.Header().Set("Content-Encoding", c.coding)
			pieces = pack(t, c.coding, pieces)
		}
		w.WriteHeader(cmp.Or(c.code, http.StatusOK))
		for i, p := range pieces {
			if i > 0 && c.slow {
				for n := 0; c.inEvents() && n < i; {
					select {
					case n = <-arrived:
					case <-ctx.Done():
						return // the cell says so
					}
				}
				time.Sleep(time.Millisecond)
			}
			_, _ = io.WriteString(w, p)
			flush(w)
		}
		if c.cut {
			panic(http.ErrAbortHandler)
		}
	})
	given := m.config
	given.URL, given.Transport, given.HTTP2, given.TLS = cfg.URL, cfg.Transport, cfg.HTTP2, cfg.TLS
	if m.query != "" {
		given.Endpoint += "?" + m.query
	}
	b := newBackend(t, given)
	x := &backend.Exchange{Received: func(n int) {
		select {
		case arrived <- n:
		case <-ctx.Done():
		}
	}}
	exchangeInto(ctx, t, b, open(t, b), m.body, x)
	r := &x.Request
	if ctx.Err() != nil {
		t.Fatalf("the exchange did not end within %v: %d of %d pieces arrived (%v %s)", cellTime, len(r.Responses), len(c.pieces), r.Status, r.Message)
	}

	want := c.want
	want.code, want.status = cmp.Or(want.code, cmp.Or(c.code, http.StatusOK)), max(want.status, export.StatusOK)
	got := m.row(r)
	damaged := c.cut && c.coding != "" // the compressed bytes of the last piece may be lost
	if damaged {
		got.responses = want.responses
	}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(matrixRow{})); diff != "" {
		t.Errorf("the row (-want +got):\n%s%s", diff, r.Message)
	}
	if !strings.Contains(r.Message, c.msg) || (c.msg == "" && want.status == export.StatusOK) != (r.Message == "") {
		t.Errorf("message %q, want %q", r.Message, c.msg)
	}
	recorded, sent := joined(x), strings.Join(c.pieces, "")
	if m.bytes != nil {
		recorded = m.bytes(recorded)
	}
	if recorded != sent && !damaged {
		t.Errorf("recorded\n%s, sent\n%s", recorded, sent)
	}
	if x.Tokens.N != want.events || x.Tokens.Several {
		t.Errorf("the recorder counts %+v, want %d", x.Tokens, want.events)
	}
	if n := len(r.Responses); want.status == export.StatusOK && !r.Responses[n-1].Final {
		t.Error("the last response is not final")
	}
	if c.slow && c.inEvents() {
		for i := 1; i < len(r.Responses); i++ {
			if a, b := &r.Responses[i-1], &r.Responses[i]; a.Read == b.Read || a.RecvNS >= b.RecvNS {
				t.Errorf("responses %d and %d, a pause apart, have the reads %d and %d and the times %d and %d", i-1, i, a.Read, b.Read, a.RecvNS, b.RecvNS)
			}
		}
	}
}

// row reads the row of a request as pa-analyze does.
func (m *matrix) row(r *export.Request) matrixRow {
	kind, streaming := "openai", true
	r.HasMeta = true
	d := paanswer.NewDeriver(&export.Run{ServiceKind: &kind, Endpoint: &m.config.Endpoint, Meta: &export.RunMeta{Streaming: &streaming}}).Derive(r)
	row := matrixRow{status: r.Status, code: r.Code, responses: len(r.Responses), events: len(d.Events)}
	for _, e := range d.Events {
		if e.Reasoning {
			row.reasoning++
		}
	}
	if d.TTFT.OK {
		row.first = int(d.Events[0].Response) + 1
	}
	for i := range r.Responses {
		out, _ := r.Responses[i].Outputs.Get("response")
		var c openai.Chunk
		if openai.ParseFrame(out.Data, &c) != nil {
			continue
		}
		for j := range c.Choices {
			row.finish = cmp.Or(string(c.Choices[j].FinishReason), row.finish)
		}
	}
	var counts []string
	for _, n := range []struct {
		name string
		n    export.Int
		ok   bool
	}{{"in", d.InputTokens, true}, {"cached", d.CachedTokens, true}, {"out", d.OutputTokens, d.TokenSource == "usage"}, {"of reasoning", d.ReasoningTokens, d.TokenSource == "usage"}} {
		if n.ok && n.n.OK {
			counts = append(counts, fmt.Sprintf("%d %s", n.n.V, n.name))
		}
	}
	row.usage = strings.Join(counts, ", ")
	return row
}

// page compares the endpoint's section of docs/reference/endpoints.md with the table of the cases; -update writes it.
// Sections are in the order of their titles.
func (m *matrix) page(t *testing.T) {
	t.Helper()
	var b strings.Builder
	title := "`" + m.config.Endpoint + "`"
	fmt.Fprintf(&b, "%s\n\n| case | status | code | responses | token events | reasoning | TTFT ends at | finish | tokens |\n|---|---|---|---|---|---|---|---|---|\n", title)
	for i := range m.cases {
		c := &m.cases[i]
		w := &c.want
		first := "n/a"
		if w.first > 0 {
			first = fmt.Sprintf("response %d", w.first)
		}
		fmt.Fprintf(&b, "| %s | %v | %d | %d | %d | %d | %s | %s | %s |\n", c.name, max(w.status, export.StatusOK), cmp.Or(w.code, c.code, 200), w.responses, w.events, w.reasoning, first, cmp.Or(w.finish, "n/a"), cmp.Or(w.usage, "n/a"))
	}
	for _, name := range matrixCases {
		if why := m.none[name]; why != "" {
			fmt.Fprintf(&b, "\nNo *%s*: %s.\n", name, why)
		}
	}
	path := filepath.Join(golden.Root(t), "docs", "reference", "endpoints.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "\n## "
	sections := strings.Split(strings.TrimSuffix(string(page), "\n"), mark)
	section := strings.TrimSuffix(b.String(), "\n")
	at := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, title+"\n") })
	if at > 0 && strings.TrimSuffix(sections[at], "\n") == section {
		return
	}
	if !*updateMatrix {
		t.Errorf("%s: the section of %s differs; run with -update, and look at what it writes", path, title)
		return
	}
	if at > 0 {
		sections = slices.Delete(sections, at, at+1)
	}
	sections = append(sections, section)
	slices.Sort(sections[1:])
	for i := range sections {
		sections[i] = strings.TrimSuffix(sections[i], "\n") + "\n"
	}
	golden.File(t, path, strings.Join(sections, mark), true)
}
