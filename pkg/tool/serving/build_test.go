package serving

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
	"github.com/pa-tools/pa/pkg/tool/dialect"
)

// words is a tokenizer that counts words, and puts nothing around them.
type words struct{}

func (words) Count(text string) int            { return len(strings.Fields(text)) }
func (words) AddSpecial(ids []uint32) []uint32 { return ids }

// A sentRequest is a request of an export that a test builds: reads of its
// answer, by nanoseconds after the start.
type sentRequest struct {
	startNS   int
	prompt    string
	maxTokens int
	reads     []read
	pa        string // JSON
}

type read struct {
	atNS int
	text string
}

// completion is an event of a completion.
func completion(text string) string {
	return `data: {"choices":[{"text":` + string(py.AppendJSONString(nil, text)) + `}]}` + "\n\n"
}

// usage is an event with nothing but the server's count of tokens.
func usage(prompt, output int) string {
	return fmt.Sprintf(`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`+"\n\n", prompt, output)
}

const (
	ended = "data: [DONE]\n\n"
	// base is the start of the runs that tests build.
	base = 1_000_000_000
)

func (q *sentRequest) json() string {
	var at, outputs []string
	for _, r := range q.reads {
		at = append(at, fmt.Sprint(base+q.startNS+r.atNS))
		outputs = append(outputs, `{"response":`+string(py.AppendJSONString(nil, r.text))+`}`)
	}
	pa := ""
	if q.pa != "" {
		pa = `,"pa":` + q.pa
	}
	payload := fmt.Sprintf(`{"model":"m","prompt":%s,"max_tokens":%d,"stream":true}`, py.AppendJSONString(nil, q.prompt), q.maxTokens)
	return fmt.Sprintf(`{"timestamp":%d,"request_inputs":{"payload":%s},"response_timestamps":[%s],"response_outputs":[%s]%s}`,
		base+q.startNS, py.AppendJSONString(nil, payload), strings.Join(at, ","), strings.Join(outputs, ","), pa)
}

// completionsExport is an export of one level, whose window begins at base.
func completionsExport(durationNS int, meta string, all ...sentRequest) string {
	var requests []string
	for i := range all {
		requests = append(requests, all[i].json())
	}
	return fmt.Sprintf(`{"experiments":[{"experiment":{"mode":"concurrency","value":1},"requests":[%s],"window_boundaries":[%d,%d]}],`+
		`"version":"1","service_kind":"openai","endpoint":"v1/completions"%s}`, strings.Join(requests, ","), base, base+durationNS, meta)
}

// openText is openJSON outside of a test.
func openText(data string) export.Reader {
	r, err := profilejson.Format{}.Open(context.Background(), "profile_export.json", strings.NewReader(data), int64(len(data)), export.Limits{})
	if err != nil {
		panic(err)
	}
	return r
}

// analyzed is the report of an export.
func analyzed(t *testing.T, tool, data string, args map[string]string) *report {
	t.Helper()
	rep, err := reportOf(tool, runtest.Open(t, []byte(data)), dialect.Config{Tokenizer: words{}, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func (r *report) console(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Console(&b, 0); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// value returns a member of the only result, as it is written.
func (r *report) value(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	v, err := py.ParseJSON(strings.TrimSpace(b.String()), py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := v.Member(name)
	if !ok {
		t.Fatalf("no %q in %s", name, b.String())
	}
	return m.Raw()
}

// warned joins the warnings.
func (r *report) warned() string {
	var all []string
	for _, w := range r.Warnings() {
		all = append(all, w.Error())
	}
	return strings.Join(all, "\n")
}
