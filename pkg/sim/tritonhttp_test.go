package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/sim/plan"
	"github.com/pa-tools/pa/pkg/wire/kserve"
)

func TestGenerate(t *testing.T) {
	s := start(t, fast())
	// All words of the vocabulary, each with its space.
	texts, _ := plan.New(0, plan.Request{Choices: 1, Length: plan.ConstantLength(10000), Room: 10000, Vocabulary: plan.Plain, TokensPerEvent: 1}).Whole()
	words := map[string]bool{}
	for _, w := range strings.Fields(texts[0]) {
		words[" "+w] = true
	}
	rows := []struct {
		name, path, body string
		status           int
		want             []string // bodies or events, with W for a word
	}{
		{
			"stream", "vllm/generate_stream", `{"text_input":"hi","stream":true,"sampling_parameters":"{\"max_tokens\":2}"}`, 200,
			[]string{`{"model_name":"vllm","model_version":"1","text_output":" W"}`, `{"model_name":"vllm","model_version":"1","text_output":" W"}`},
		},
		{
			"stream with id and parameters", "vllm/versions/1/generate_stream", `{"id":"q7","text_input":"hi","stream":true,"parameters":{"max_tokens":1}}`, 200,
			[]string{`{"id":"q7","model_name":"vllm","model_version":"1","text_output":" W"}`},
		},
		{
			"flat parameters", "vllm/generate_stream", `{"text_input":"hi","stream":true,"max_tokens":1,"bad_words":"","temperature":0.5}`, 200,
			[]string{`{"model_name":"vllm","model_version":"1","text_output":" W"}`},
		},
		{
			"one response as a stream", "vllm/generate_stream", `{"text_input":"hi","max_tokens":2}`, 200,
			[]string{`{"model_name":"vllm","model_version":"1","text_output":" W W"}`},
		},
		{
			"no stream", "vllm/generate", `{"text_input":["hi"],"max_tokens":2}`, 200,
			[]string{`{"model_name":"vllm","model_version":"1","text_output":" W W"}`},
		},
		{
			"2309", "vllm_2309/generate", `{"PROMPT":"hi","SAMPLING_PARAMETERS":"{\"max_tokens\":1}"}`, 200,
			[]string{`{"model_name":"vllm_2309","model_version":"1","TEXT":" W"}`},
		},
		{
			"counts", "vllm/generate_stream", `{"text_input":"hi you","stream":true,"max_tokens":2,"return_num_input_tokens":true,"return_num_output_tokens":true,"return_finish_reason":true}`, 200,
			[]string{
				`{"model_name":"vllm","model_version":"1","text_output":" W","finish_reason":"None","num_input_tokens":2,"num_output_tokens":1}`,
				`{"model_name":"vllm","model_version":"1","text_output":" W","finish_reason":"length","num_input_tokens":2,"num_output_tokens":1}`,
			},
		},
		{
			"tensorrtllm", "ensemble/generate_stream", `{"text_input":"hi","max_tokens":2,"stream":true,"bad_words":"","stop_words":["a","b"],"temperature":0.5}`, 200,
			[]string{`{"model_name":"ensemble","model_version":"1","text_output":" W"}`, `{"model_name":"ensemble","model_version":"1","text_output":" W"}`},
		},
		{"tensorrtllm without max_tokens", "ensemble/generate", `{"text_input":"hi"}`, 400, []string{`{"error":"model 'ensemble': input 'max_tokens' is missing"}`}},
		{
			"add_sub", "add_sub/generate", `{"INPUT0":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16],"INPUT1":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}`, 200,
			[]string{`{"model_name":"add_sub","model_version":"1","OUTPUT0":[2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],"OUTPUT1":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]}`},
		},
		{
			"error in the stream", "vllm/generate_stream", `{"text_input":"hi","stream":true,"max_tokens":5,"fail_after":1}`, 200,
			[]string{`{"model_name":"vllm","model_version":"1","text_output":" W"}`, `{"error":"` + errorEventMessage + `"}`},
		},
		{"error", "vllm/generate", `{"text_input":"hi","fail_after":1}`, 500, []string{`{"error":"` + errorEventMessage + `"}`}},
		{"stream to generate", "vllm/generate", `{"text_input":"hi","stream":true}`, 400, []string{`{"error":"generate answers with exactly 1 response; leave out stream, or use generate_stream"}`}},
		{"unknown model", "no/generate", `{"text_input":"hi"}`, 404, []string{`{"error":"there is no model 'no' in the repository"}`}},
		{"unknown version", "vllm/versions/2/generate", `{"text_input":"hi"}`, 404, []string{`{"error":"model 'vllm' has no version 2, only 1"}`}},
		{"missing input", "vllm/generate", `{"stream":false}`, 400, []string{`{"error":"model 'vllm': input 'text_input' is missing"}`}},
		{"an object as a parameter", "vllm/generate", `{"text_input":"x","a":{}}`, 400, []string{`{"error":"parameter \"a\" is not a bool, number or string"}`}},
	}
	for _, row := range rows {
		status, body, err := post(t, s.TritonHTTPURL()+"/v2/models/"+row.path, row.body)
		if err != nil || status != row.status {
			t.Errorf("%s: status %d, %v, want %d", row.name, status, err, row.status)
		}
		got := []string{string(body)}
		if strings.HasPrefix(got[0], "data: ") {
			got = strings.Split(strings.TrimSuffix(strings.TrimPrefix(got[0], "data: "), "\n\n"), "\n\ndata: ")
		}
		for i := range got {
			for w := range words {
				got[i] = strings.ReplaceAll(strings.ReplaceAll(got[i], w+`"`, ` W"`), w+" ", " W ")
			}
			if strings.Contains(row.want[0], `"error"`) { // error messages may hold words of the vocabulary
				got[i] = string(body)
			}
		}
		if d := cmp.Diff(row.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, d)
		}
		e := last(t, s)
		if row.status == 200 && !bytes.Equal(e.Sent(), body) {
			t.Errorf("%s: ledger %q, received %q", row.name, e.Sent(), body)
		}
	}
	for _, body := range []string{``, `[]`, `{"text_input":5}`, `{"text_input":["a","b"]}`, `{"text_input":"x","stream":"yes"}`, `{"text_input":"x","id":5}`, `{"text_input":"x","parameters":[]}`, `{"text_input":"x","max_tokens":true}`} {
		if status, b, err := post(t, s.TritonHTTPURL()+"/v2/models/vllm/generate", body); status != 400 || err != nil || !bytes.HasPrefix(b, []byte(`{"error":`)) {
			t.Errorf("%s: %d %s, %v, want 400", body, status, b, err)
		}
	}
}

func addSubHTTP(binary bool) *kserve.Request {
	q := &kserve.Request{ID: "h1"}
	for i, name := range []string{"INPUT0", "INPUT1"} {
		data := make([]byte, 2*16*4)
		data[0], data[4] = byte(7-i), byte(i)
		q.Inputs = append(q.Inputs, kserve.Tensor{Name: name, Datatype: kserve.INT32, Shape: []int64{2, 16}, Data: data, Binary: binary})
	}
	return q
}

func TestHTTPInfer(t *testing.T) {
	s := start(t, fast())
	rows := []struct {
		name    string
		binary  bool // inputs
		outputs []kserve.RequestedOutput
		params  []kserve.Param
		want    []string // names, with * for binary
	}{
		{"json", false, nil, nil, []string{"OUTPUT0", "OUTPUT1"}},
		{"binary inputs", true, nil, nil, []string{"OUTPUT0", "OUTPUT1"}},
		{"binary outputs", false, nil, []kserve.Param{{Name: kserve.ParamBinaryOutput, Value: true}}, []string{"OUTPUT0*", "OUTPUT1*"}},
		{"one output", true, []kserve.RequestedOutput{{Name: "OUTPUT1", Binary: true}}, nil, []string{"OUTPUT1*"}},
		{"both forms", true, []kserve.RequestedOutput{{Name: "OUTPUT1", Binary: true}, {Name: "OUTPUT0"}}, nil, []string{"OUTPUT1*", "OUTPUT0"}},
	}
	for _, row := range rows {
		q := addSubHTTP(row.binary)
		q.Outputs, q.Params = row.outputs, row.params
		body, n := q.AppendHTTP(nil)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.TritonHTTPURL()+"/v2/models/add_sub/infer", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if n < len(body) {
			req.Header.Set(kserve.HeaderLength, strconv.Itoa(n))
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		jsonBytes := -1
		if h := resp.Header.Get(kserve.HeaderLength); h != "" {
			if jsonBytes, err = strconv.Atoi(h); err != nil {
				t.Fatal(err)
			}
		}
		var r kserve.Response
		if err := r.ParseHTTP(b, jsonBytes); err != nil || resp.StatusCode != 200 || r.ID != "h1" || r.Error != "" {
			t.Fatalf("%s: %d %q, %v", row.name, resp.StatusCode, b, err)
		}
		var got []string
		for _, o := range r.Outputs {
			name := o.Name
			if o.Binary {
				name += "*"
			}
			got = append(got, name)
			want := map[string]byte{"OUTPUT0": 13, "OUTPUT1": 1}[o.Name]
			if len(o.Data) != 128 || o.Data[0] != want {
				t.Errorf("%s: %s is %x", row.name, o.Name, o.Data)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: outputs %q, want %q", row.name, got, row.want)
		}
		if e := last(t, s); !bytes.Equal(e.Sent(), b) || e.ID != "h1" || e.Protocol != TritonHTTPInfer {
			t.Errorf("%s: the entry is %+v", row.name, e)
		}
	}
	for path, body := range map[string]string{
		"vllm/infer":    `{"inputs":[{"name":"text_input","shape":[1],"datatype":"BYTES","data":["x"]}]}`,
		"add_sub/infer": `{"inputs":[`,
	} {
		if status, b, err := post(t, s.TritonHTTPURL()+"/v2/models/"+path, body); status != 400 || err != nil || !bytes.HasPrefix(b, []byte(`{"error":`)) {
			t.Errorf("%s: %d %s, %v, want 400", path, status, b, err)
		}
	}
}

func TestHTTPInfo(t *testing.T) {
	s := start(t, fast())
	rows := []struct {
		method, path string
		status       int
		want         []string
	}{
		{"GET", "/v2", 200, []string{`"pa-sim"`, `"extensions"`}},
		{"GET", "/v2/health/live", 200, nil},
		{"GET", "/v2/health/ready", 200, nil},
		{"GET", "/v2/models/vllm", 200, []string{`"text_input"`, `"BYTES"`, `"platform"`}},
		{"GET", "/v2/models/vllm/versions/1", 200, []string{`"text_output"`}},
		{"GET", "/v2/models/vllm/ready", 200, nil},
		{"GET", "/v2/models/no/ready", 404, []string{`"error"`}},
		{"GET", "/v2/models/vllm/versions/3/ready", 404, []string{`"error"`}},
		{"GET", "/v2/models/vllm/config", 200, []string{`"max_batch_size"`, `"decoupled"`, `"TYPE_STRING"`}},
		{"GET", "/v2/models/no/config", 404, []string{`"error"`}},
		{"GET", "/v2/models/add_sub/stats", 200, []string{`"inference_count"`, `"compute_infer"`}},
		{"GET", "/v2/models/stats", 200, []string{`"add_sub"`, `"vllm_2309"`}},
		{"POST", "/v2/repository/index", 200, []string{`"READY"`, `"vllm"`}},
		{"GET", "/v2/repository/index", 405, nil},
		{"GET", "/v3", 404, []string{`"error"`}},
	}
	for _, row := range rows {
		req, err := http.NewRequestWithContext(t.Context(), row.method, s.TritonHTTPURL()+row.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != row.status || len(b) > 0 && !json.Valid(b) {
			t.Errorf("%s %s: %d %s, want %d", row.method, row.path, resp.StatusCode, b, row.status)
		}
		for _, want := range row.want {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s %s: %s is not in %s", row.method, row.path, want, b)
			}
		}
	}
	if n := len(s.Ledger()); n != 0 {
		t.Errorf("%d ledger entries of requests that are no inference", n)
	}
}

// Streams of the generate extension have the same faults as streams of the OpenAI API.
func TestGenerateFaults(t *testing.T) {
	for f, want := range map[plan.Fault]struct {
		status int
		broken bool
		events int
		end    End
	}{
		plan.FaultHTTP500:    {500, false, 0, EndError},
		plan.FaultHTTP429:    {429, false, 0, EndError},
		plan.FaultReset:      {200, true, 3, EndFault},
		plan.FaultTruncate:   {200, true, 3, EndFault},
		plan.FaultMerged:     {200, false, 5, EndOK},
		plan.FaultOneshot:    {200, false, 5, EndOK},
		plan.FaultSplit:      {200, false, 5, EndOK},
		plan.FaultCRLF:       {200, false, 5, EndOK},
		plan.FaultComments:   {200, false, 5, EndOK},
		plan.FaultGarbage:    {200, false, 6, EndOK},
		plan.FaultSlowHeader: {200, false, 5, EndOK},
		plan.FaultNoDone:     {200, false, 5, EndOK},
		plan.FaultErrorEvent: {200, false, 4, EndError},
	} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			s := start(t, fast())
			status, b, err := post(t, s.TritonHTTPURL()+"/v2/models/vllm/generate_stream",
				fmt.Sprintf(`{"text_input":"x","stream":true,"max_tokens":5,"sim_fault":%q}`, f))
			events := 0
			for _, line := range strings.SplitAfter(string(b), "\n") {
				if strings.HasPrefix(line, "data: ") && strings.HasSuffix(line, "\n") {
					events++
				}
			}
			if status != want.status || (err != nil) != want.broken || events != want.events {
				t.Errorf("status %d, %v, %d events in %q, want %+v", status, err, events, b, want)
			}
			e := last(t, s)
			if e.End != want.end || len(e.EventTimesNS()) != want.events {
				t.Errorf("the ledger says %q, %d events, want %+v", e.End, len(e.EventTimesNS()), want)
			}
		})
	}
}
