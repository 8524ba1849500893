package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/openai"
	"github.com/pa-tools/pa/pkg/wire/sse"
)

// post sends a body and returns the status, the bytes of the answer that arrived, and the
// error of the connection.
func post(t *testing.T, url, body string) (int, []byte, error) {
	t.Helper()
	return postOver(t, false, url, body)
}

// postOver is post over HTTP/1.1 or HTTP/2, on a connection of its own.
func postOver(t *testing.T, http2 bool, url, body string) (int, []byte, error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetUnencryptedHTTP2(http2)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	resp, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// strictChunk is an event of a stream, with all keys that the server may send.
type strictChunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index int `json:"index"`
		Delta *struct {
			Role    string  `json:"role"`
			Content *string `json:"content"`
		} `json:"delta"`
		Text         *string `json:"text"`
		Logprobs     *int    `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
		StopReason   *int    `json:"stop_reason"`
	} `json:"choices"`
	Usage *strictUsage `json:"usage"`
}

type strictUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Total      int `json:"total_tokens"`
	Completion int `json:"completion_tokens"`
}

// strictEvents reads a stream in the server's exact form: each event is "data: ", one
// line and a blank line, and the last event is [DONE].
func strictEvents(t *testing.T, body []byte) []strictChunk {
	t.Helper()
	rest, ok := strings.CutSuffix(string(body), "data: [DONE]\n\n")
	if !ok {
		t.Fatalf("the stream does not end with [DONE]: %q", body)
	}
	var chunks []strictChunk
	for rest != "" {
		line, after, ok := strings.Cut(rest, "\n\n")
		data, isData := strings.CutPrefix(line, "data: ")
		if !ok || !isData || strings.ContainsAny(data, "\r\n") {
			t.Fatalf("not an event: %q", line)
		}
		var c strictChunk
		d := json.NewDecoder(strings.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		chunks = append(chunks, c)
		rest = after
	}
	return chunks
}

// summary returns the content of an event in a line.
func (c strictChunk) summary() string {
	s := ""
	for _, choice := range c.Choices {
		s += fmt.Sprint(choice.Index)
		switch {
		case choice.Text != nil:
			s += fmt.Sprintf(" text %d", len(strings.Fields(*choice.Text)))
		case choice.Delta != nil && choice.Delta.Role != "":
			s += fmt.Sprintf(" role %s %q", choice.Delta.Role, *choice.Delta.Content)
		case choice.Delta != nil:
			s += fmt.Sprintf(" delta %d", len(strings.Fields(*choice.Delta.Content)))
		}
		if choice.FinishReason != nil {
			s += " " + *choice.FinishReason
		}
	}
	if c.Usage != nil {
		s += fmt.Sprintf(" usage %d %d %d", c.Usage.Prompt, c.Usage.Completion, c.Usage.Total)
	}
	return s
}

func TestOpenAIStream(t *testing.T) {
	rows := []struct {
		name, path, body string
		change           func(*Config)
		want             []string
	}{
		{
			name: "chat", path: "chat/completions", body: `{"messages":[{"role":"user","content":"one two"}],"stream":true,"max_tokens":3}`,
			want: []string{`0 role assistant ""`, "0 delta 1", "0 delta 1", "0 delta 1 length"},
		},
		{
			name: "chat with usage", path: "chat/completions", body: `{"messages":[{"content":"one two"},{"content":[{"type":"text","text":"three"}]}],"stream":true,"max_tokens":2,"stream_options":{"include_usage":true}}`,
			want: []string{`0 role assistant ""`, "0 delta 1", "0 delta 1 length", " usage 3 2 5"},
		},
		{
			name: "continuous usage", path: "chat/completions", body: `{"messages":[{"content":"one"}],"stream":true,"max_tokens":2,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`,
			want: []string{`0 role assistant "" usage 1 0 1`, "0 delta 1 usage 1 1 2", "0 delta 1 length usage 1 2 3", " usage 1 2 3"},
		},
		{
			name: "n", path: "chat/completions", body: `{"messages":[{"content":"one"}],"stream":true,"max_completion_tokens":2,"max_tokens":9,"n":2,"stream_options":{"include_usage":true}}`,
			want: []string{`0 role assistant ""`, `1 role assistant ""`, "0 delta 1", "1 delta 1", "0 delta 1 length", "1 delta 1 length", " usage 1 4 5"},
		},
		{
			name: "by itself", path: "completions", body: `{"prompt":"one two","stream":true}`, change: func(c *Config) { c.OutputTokens = plan.ConstantLength(2) },
			want: []string{"0 text 1", "0 text 1 stop"},
		},
		{
			name: "two prompts", path: "completions", body: `{"prompt":["one two","three"],"stream":true,"max_tokens":1,"stream_options":{"include_usage":true}}`,
			want: []string{"0 text 1 length", "1 text 1 length", " usage 3 2 5"},
		},
		{
			name: "token ids", path: "completions", body: `{"prompt":[5,6,7],"stream":true,"max_tokens":1,"stream_options":{"include_usage":true}}`,
			want: []string{"0 text 1 length", " usage 3 1 4"},
		},
		{
			name: "lists of token ids", path: "completions", body: `{"prompt":[[5,6,7],[8]],"stream":true,"max_tokens":1,"stream_options":{"include_usage":true}}`,
			want: []string{"0 text 1 length", "1 text 1 length", " usage 4 2 6"},
		},
		{
			name: "echo", path: "completions", body: `{"prompt":"one two","stream":true,"max_tokens":2,"echo":true}`,
			want: []string{"0 text 3", "0 text 1 length"},
		},
		{
			name: "tokens per event", path: "completions", body: `{"prompt":"one","stream":true,"max_tokens":6}`, change: func(c *Config) { c.TokensPerEvent = 4 },
			want: []string{"0 text 1", "0 text 4", "0 text 1 length"},
		},
		{
			name: "a server without counts", path: "completions", body: `{"prompt":"one","stream":true,"max_tokens":1,"stream_options":{"include_usage":true}}`, change: func(c *Config) { c.OmitUsage = true },
			want: []string{"0 text 1 length"},
		},
		{
			name: "numbers as strings", path: "completions", body: `{"prompt":"one","stream":true,"max_tokens":"2","min_tokens":"1"}`,
			want: []string{"0 text 1", "0 text 1 length"},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c := fast()
			if row.change != nil {
				row.change(&c)
			}
			s := start(t, c)
			status, body, err := post(t, s.OpenAIURL()+"/v1/"+row.path, row.body)
			if status != 200 || err != nil {
				t.Fatalf("status %d, %v: %s", status, err, body)
			}
			prefix, object := "cmpl-sim-0", "text_completion"
			if strings.HasPrefix(row.path, "chat") {
				prefix, object = "chatcmpl-sim-0", "chat.completion.chunk"
			}
			var got []string
			for _, c := range strictEvents(t, body) {
				got = append(got, c.summary())
				if c.ID != prefix || c.Object != object || c.Model != DefaultModel || c.Created == 0 {
					t.Errorf("id %q, object %q, model %q, created %d", c.ID, c.Object, c.Model, c.Created)
				}
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			e := last(t, s)
			if e.End != EndOK || e.ID != prefix || e.Code != 200 {
				t.Errorf("the ledger's entry is %+v", e)
			}
			if n := len(e.EventTimesNS()); n != len(row.want)+1 {
				t.Errorf("the ledger has %d events, want %d", n, len(row.want)+1)
			}
			if n := len(e.TokenTimesNS()); n != e.OutputTokens {
				t.Errorf("the ledger has the times of %d tokens and the number %d", n, e.OutputTokens)
			}
		})
	}
}

func TestOpenAIWhole(t *testing.T) {
	s := start(t, fast())
	for path, want := range map[string]string{
		"chat/completions": `{"id":"chatcmpl-sim-N","object":"chat.completion","model":"sim","choices":[{"index":0,"message":{"role":"assistant","content":"T"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":2,"total_tokens":5,"completion_tokens":3}}`,
		"completions":      `{"id":"cmpl-sim-N","object":"text_completion","model":"sim","choices":[{"index":0,"text":"T","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":2,"total_tokens":5,"completion_tokens":3}}`,
	} {
		status, body, err := post(t, s.OpenAIURL()+"/v1/"+path, `{"messages":[{"content":"one two"}],"prompt":"one two","max_tokens":3,"vocabulary":"tricky"}`)
		if status != 200 || err != nil {
			t.Fatalf("%s: status %d, %v: %s", path, status, err, body)
		}
		var got, wanted map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		delete(got, "created")
		got["id"] = strings.TrimRight(got["id"].(string), "0123456789") + "N"
		choice := got["choices"].([]any)[0].(map[string]any)
		if m, ok := choice["message"].(map[string]any); ok {
			m["content"] = "T"
		} else {
			choice["text"] = "T"
		}
		if d := cmp.Diff(wanted, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
		if e := last(t, s); len(e.Writes) != 1 || !bytes.Equal(e.Sent(), body) {
			t.Errorf("%s: %d writes, sent %q, received %q", path, len(e.Writes), e.Sent(), body)
		}
	}
}

func TestOpenAIErrors(t *testing.T) {
	c := fast()
	c.ContextTokens, c.MaxRequestBytes = 100, 4096
	s := start(t, c)
	rows := []struct {
		name, path, body string
		status           int
		want             string
	}{
		{"not JSON", "/v1/chat/completions", `{"messages":`, 400, "not a valid request"},
		{"empty", "/v1/completions", ``, 400, "not a valid request"},
		{"more after the JSON", "/v1/completions", `{"prompt":"x"}}`, 400, "not a valid request"},
		{"no messages", "/v1/chat/completions", `{}`, 400, "messages: expected at least one"},
		{"messages of a wrong type", "/v1/chat/completions", `{"messages":"x"}`, 400, "messages"},
		{"content of a wrong type", "/v1/chat/completions", `{"messages":[{"content":5}]}`, 400, "messages[0].content"},
		{"no prompt", "/v1/completions", `{}`, 400, "prompt: expected a string, a list of strings, or token ids"},
		{"prompt of a wrong type", "/v1/completions", `{"prompt":{"a":1}}`, 400, "prompt: expected"},
		{"no prompts", "/v1/completions", `{"prompt":[]}`, 400, "prompt: expected"},
		{"unknown model", "/v1/completions", `{"prompt":"x","model":"no"}`, 404, `no model \"no\" here, only sim`},
		{"max_tokens 0", "/v1/completions", `{"prompt":"x","max_tokens":0}`, 400, "max_tokens is 0; expected a whole number from 1"},
		{"max_tokens broken", "/v1/completions", `{"prompt":"x","max_tokens":1.5}`, 400, "max_tokens is 1.5"},
		{"max_tokens no number", "/v1/completions", `{"prompt":"x","max_tokens":"many"}`, 400, "is not a number"},
		{"beyond the context", "/v1/completions", `{"prompt":"x","max_tokens":100}`, 400, "maximum context length is 100"},
		{"min above max", "/v1/completions", `{"prompt":"x","max_tokens":1,"min_tokens":2}`, 400, "min_tokens 2 is more than max_tokens 1"},
		{"n 0", "/v1/completions", `{"prompt":"x","n":0}`, 400, "n is 0"},
		{"n too large", "/v1/completions", `{"prompt":["x","y"],"n":100}`, 400, "200 answers"},
		{"unknown fault", "/v1/completions", `{"prompt":"x","sim_fault":"no"}`, 400, "unknown fault"},
		{"negative delay", "/v1/completions", `{"prompt":"x","ttft_ms":-1}`, 400, "ttft_ms: the mean is negative"},
		{"endless delay", "/v1/completions", `{"prompt":"x","itl_ms":1e300}`, 400, "itl_ms"},
		{"unknown vocabulary", "/v1/completions", `{"prompt":"x","vocabulary":"no"}`, 400, "unknown vocabulary"},
		{"too large", "/v1/completions", `{"prompt":"` + strings.Repeat("x", 5000) + `"}`, 413, "larger than 4096"},
		{"unknown path", "/v1/nothing", `{}`, 404, "Not Found"},
		{"wrong method", "/v1/models", `{}`, 405, "Method Not Allowed"},
	}
	for _, row := range rows {
		status, body, err := post(t, s.OpenAIURL()+row.path, row.body)
		if err != nil || status != row.status || !strings.Contains(string(body), row.want) || !json.Valid(body) {
			t.Errorf("%s: status %d, %v, %s, want %d with %q", row.name, status, err, body, row.status, row.want)
		}
		if got, want := openai.IsContextOverflow(status, body), strings.Contains(row.want, "context length"); got != want {
			t.Errorf("%s: %s is a context overflow: %v, want %v", row.name, body, got, want)
		}
	}
	for _, e := range settled(t, s) {
		if e.End != EndError || e.Code < 400 || e.Message == "" || len(e.Writes) != 0 {
			t.Errorf("the ledger's entry of a refused request is %+v", e)
		}
	}
}

func TestOpenAIModelsAndKey(t *testing.T) {
	c := fast()
	c.Models, c.APIKey = []string{"a/b", "c"}, "secret"
	s := start(t, c)
	get := func(path, key string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.OpenAIURL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			req.Header.Set("Authorization", key)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	for _, key := range []string{"", "Bearer wrong", "secret", "Bearer secret2"} {
		if status, body := get("/v1/models", key); status != 401 || !strings.Contains(body, "API key") || strings.Contains(body, "secret") {
			t.Errorf("key %q: %d %s, want 401", key, status, body)
		}
	}
	if status, body := get("/v1/models", "Bearer secret"); status != 200 || !strings.Contains(body, `"id":"a/b"`) || !strings.Contains(body, `"id":"c"`) {
		t.Errorf("models: %d %s", status, body)
	}
	if status, _ := get("/health", ""); status != 200 {
		t.Errorf("health: %d", status)
	}
	if n := len(s.Ledger()); n != 0 {
		t.Errorf("%d ledger entries of requests that are no inference", n)
	}
}

// The writes in the ledger equal the bytes that a client reads from the socket. Package
// net/http/httputil decodes the HTTP chunks.
func TestLedgerIsWhatTheSocketSaw(t *testing.T) {
	for _, f := range []plan.Fault{plan.FaultNone, plan.FaultMerged, plan.FaultSplit, plan.FaultCRLF, plan.FaultComments, plan.FaultOneshot, plan.FaultGarbage, plan.FaultNoDone, plan.FaultErrorEvent, plan.FaultSlowHeader} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			s := start(t, fast())
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.OpenAIURL(), "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			body := fmt.Sprintf(`{"messages":[{"content":"a b"}],"stream":true,"max_tokens":7,"vocabulary":"tricky","sim_fault":%q,"stream_options":{"include_usage":true}}`, f)
			before := uint64(time.Now().UnixNano())
			fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			wire, err := io.ReadAll(conn)
			if err != nil {
				t.Fatal(err)
			}
			after := uint64(time.Now().UnixNano())
			header, chunks, ok := bytes.Cut(wire, []byte("\r\n\r\n"))
			if !ok || !bytes.HasPrefix(header, []byte("HTTP/1.1 200 OK\r\n")) {
				t.Fatalf("the answer is %q", wire)
			}
			got, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(chunks)))
			if err != nil {
				t.Fatal(err)
			}
			e := last(t, s)
			if !bytes.Equal(got, e.Sent()) {
				t.Errorf("received\n%q\nledger\n%q", got, e.Sent())
			}
			if e.RequestBytes != len(body) || e.Fault != f.String() || e.InputTokens != 2 || e.Remote != conn.LocalAddr().String() {
				t.Errorf("the entry is %+v", e)
			}
			// One chunk per write, and the times in order.
			times := []uint64{before, e.ReceivedNS, e.StartedNS}
			for _, w := range e.Writes {
				size := fmt.Sprintf("%x\r\n", len(w.Data))
				if !bytes.HasPrefix(chunks, append([]byte(size), w.Data...)) {
					t.Fatalf("the next chunk is not the next write: %q, %q", chunks, w.Data)
				}
				chunks = chunks[len(size)+len(w.Data)+2:]
				if w.Bytes != len(w.Data) || w.SHA256 != "" || w.SentNS < w.DueNS {
					t.Errorf("write %+v", w)
				}
				times = append(times, w.SentNS)
			}
			if times = append(times, e.EndedNS, after); !slices.IsSorted(times) {
				t.Errorf("times out of order: %d", times)
			}
			// The ledger counts the events that the splitter of package sse finds.
			var split sse.Splitter
			split.Feed(got)
			events, tokens := 0, 0
			for split.Next() {
				if ev := sse.Parse(split.Frame()); !ev.Comment {
					events++
				}
			}
			for _, w := range e.Writes {
				tokens += w.Tokens
			}
			if events != len(e.EventTimesNS()) || len(split.Rest()) > 0 {
				t.Errorf("%d events found, %d in the ledger, rest %q", events, len(e.EventTimesNS()), split.Rest())
			}
			if want := 7; f != plan.FaultErrorEvent && tokens != want {
				t.Errorf("%d tokens in the ledger, want %d", tokens, want)
			}
		})
	}
}

// outcome is the result of a request as a client sees it.
type outcome struct {
	status           int
	broken           bool // the connection or the body broke
	chunks           int  // events with output
	done, err, clean bool // [DONE] came, an error event came, all was valid JSON
}

func TestOpenAIFaults(t *testing.T) {
	rows := []struct {
		fault         plan.Fault
		stream, whole outcome
		end           End
	}{
		{plan.FaultNone, outcome{200, false, 5, true, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
		{plan.FaultHTTP500, outcome{500, false, 0, false, true, true}, outcome{500, false, 0, false, true, true}, EndError},
		{plan.FaultHTTP429, outcome{429, false, 0, false, true, true}, outcome{429, false, 0, false, true, true}, EndError},
		{plan.FaultReset, outcome{200, true, 3, false, false, true}, outcome{200, true, 0, false, false, false}, EndFault},
		{plan.FaultTruncate, outcome{200, true, 3, false, false, true}, outcome{200, true, 0, false, false, false}, EndFault},
		{plan.FaultNoReply, outcome{broken: true, clean: true}, outcome{broken: true, clean: true}, EndFault},
		{plan.FaultGarbageHeader, outcome{broken: true, clean: true}, outcome{broken: true, clean: true}, EndFault},
		{plan.FaultNoDone, outcome{200, false, 5, false, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
		{plan.FaultErrorEvent, outcome{200, false, 3, true, true, true}, outcome{500, false, 0, false, true, true}, EndError},
		{plan.FaultMerged, outcome{200, false, 5, true, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
		{plan.FaultSplit, outcome{200, false, 5, true, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
		{plan.FaultCRLF, outcome{200, false, 5, true, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
		{plan.FaultComments, outcome{200, false, 5, true, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
		{plan.FaultOneshot, outcome{200, false, 5, true, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
		{plan.FaultGarbage, outcome{200, false, 5, true, false, false}, outcome{200, false, 0, false, false, false}, EndOK},
		{plan.FaultSlowHeader, outcome{200, false, 5, true, false, true}, outcome{200, false, 1, false, false, true}, EndOK},
	}
	tested := map[plan.Fault]bool{plan.FaultHang: true, plan.FaultStall: true} // TestOpenAIHangAndStall tests these
	for _, row := range rows {
		tested[row.fault] = true
		for how := range 4 {
			stream, http2 := how%2 == 0, how/2 == 1
			t.Run(fmt.Sprintf("%v/stream=%v,http2=%v", row.fault, stream, http2), func(t *testing.T) {
				t.Parallel()
				s := start(t, fast())
				body := fmt.Sprintf(`{"messages":[{"content":"a"}],"stream":%v,"max_tokens":5,"sim_fault":%q}`, stream, row.fault)
				status, b, err := postOver(t, http2, s.OpenAIURL()+"/v1/chat/completions", body)
				got := outcome{status: status, broken: err != nil, clean: true}
				var frames [][]byte
				if stream && status == 200 {
					var split sse.Splitter
					split.Feed(b)
					for split.Next() {
						frames = append(frames, bytes.Clone(split.Frame()))
					}
				} else if len(b) > 0 {
					frames = [][]byte{b}
				}
				for _, frame := range frames {
					var c openai.Chunk
					var perr error
					if stream && status == 200 {
						perr = openai.ParseFrame(frame, &c)
					} else {
						perr = openai.Parse(frame, &c)
					}
					switch {
					case perr != nil:
						got.clean = false
					case c.Done:
						got.done = true
					case c.Error != nil:
						got.err = true
					case c.HasOutput():
						got.chunks++
					}
				}
				want := row.whole
				if stream {
					want = row.stream
				}
				if got != want {
					t.Errorf("got %+v, want %+v; body %q, %v", got, want, b, err)
				}
				if e := last(t, s); e.End != row.end && (status != 500 || e.End != EndError) {
					t.Errorf("the ledger says %q, want %q", e.End, row.end)
				}
			})
		}
	}
	for _, f := range plan.Faults() {
		if !tested[f] {
			t.Errorf("no test of fault %v", f)
		}
	}
}

// hang and stall keep the client waiting until it closes the connection. The server notices
// that.
func TestOpenAIHangAndStall(t *testing.T) {
	for fault, chunks := range map[plan.Fault]int{plan.FaultHang: 0, plan.FaultStall: 3} {
		s := start(t, fast())
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.OpenAIURL(), "http://"))
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"prompt":"a","stream":true,"max_tokens":5,"sim_fault":%q}`, fault)
		// 100 Continue comes when the handler reads the body. The ledger has the
		// request by then.
		fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: sim\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
		r := bufio.NewReader(conn)
		if line, err := r.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		fmt.Fprint(conn, body)
		for got := 0; got < chunks; {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, "data: ") {
				got++
			}
		}
		if e := s.Ledger()[0]; e.End != EndRunning {
			t.Errorf("%v: the ledger says %q before the client went", fault, e.End)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if e := last(t, s); e.End != EndClientGone || len(e.TokenTimesNS()) != chunks {
			t.Errorf("%v: the ledger says %q after %d tokens, want %q after %d", fault, e.End, len(e.TokenTimesNS()), EndClientGone, chunks)
		}
	}
}

// Equal seeds give equal texts and lengths by index, with one request at a time or sixteen.
func TestDeterminismAcrossConcurrency(t *testing.T) {
	texts := func(concurrency int) map[string]string {
		c := fast()
		c.Seed, c.OutputTokens, c.ITL = 42, plan.Length{Kind: plan.Normal, Mean: 10, Stddev: 4}, plan.Delay{Kind: plan.Normal, Mean: 200 * time.Microsecond, Stddev: 100 * time.Microsecond}
		s := start(t, c)
		all := map[string]string{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		limit := make(chan struct{}, concurrency)
		for range 32 {
			limit <- struct{}{}
			wg.Go(func() {
				defer func() { <-limit }()
				_, b, err := post(t, s.OpenAIURL()+"/v1/completions", `{"prompt":"a b","stream":true}`)
				if err != nil {
					t.Error(err)
					return
				}
				text := ""
				var id string
				for _, c := range strictEvents(t, b) {
					text += *c.Choices[0].Text
					id = c.ID
				}
				mu.Lock()
				defer mu.Unlock()
				all[id] = text
			})
		}
		wg.Wait()
		return all
	}
	one, many := texts(1), texts(16)
	if d := cmp.Diff(one, many); d != "" || len(one) != 32 {
		t.Errorf("%d texts; one at a time, sixteen at a time (-one +sixteen):\n%s", len(one), d)
	}
	lengths := map[int]bool{}
	for _, text := range one {
		lengths[countWords(text)] = true
	}
	if len(lengths) < 3 {
		t.Errorf("only the lengths %v", lengths)
	}
}
