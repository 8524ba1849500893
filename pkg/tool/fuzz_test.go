package tool

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/internal/test/testenv"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/export/profilejson"
)

// endpointsEvents is a file of mlcommons/endpoints with one streamed request.
const endpointsEvents = `{"event_type":"session.started","timestamp_ns":100,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
{"event_type":"session.start_performance_tracking","timestamp_ns":110,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
{"event_type":"sample.issued","timestamp_ns":200,"sample_uuid":"a","conversation_id":"","turn":null,"data":["PromptData","hi a",null,null,null,null,null,null]}
{"event_type":"sample.recv_first","timestamp_ns":250,"sample_uuid":"a","conversation_id":"","turn":null,"data":null}
{"event_type":"sample.recv_non_first","timestamp_ns":260,"sample_uuid":"a","conversation_id":"","turn":null,"data":null}
{"event_type":"sample.complete","timestamp_ns":300,"sample_uuid":"a","conversation_id":"","turn":null,"data":["TextModelOutput",["x","y"],null,null]}
{"event_type":"session.stop_performance_tracking","timestamp_ns":9000,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
{"event_type":"session.ended","timestamp_ns":9001,"sample_uuid":"","conversation_id":"","turn":null,"data":null}
`

// FuzzReader checks that no content makes a reader panic or run for ever, and
// that an import can be kept as profile_export.json and is the same when it is
// read from there.
func FuzzReader(f *testing.F) {
	for _, x := range samples {
		f.Add([]byte(x.text))
	}
	f.Add([]byte(endpointsEvents))
	f.Add([]byte(`{"8":{"concurrency":8,"client_requests":1,"throughput":NaN,"perf_results":[{"e2e_latency":1e300}],"metrics":{"average_ttft":"x"}},"9":{}}`))
	f.Add([]byte(`{"backend":"a","dataset_name":"d","request_rate":-Infinity,"server_info":{},"duration":0,"ttfts":[0.5,NaN],"itls":[[],[NaN]],"output_lens":[1,2],"errors":["","x"],"start_times":[0,1e300]} {"backend":"a"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lim := export.Limits{MaxValueBytes: 1 << 16}
		for _, format := range Formats() {
			if !format.Sniff(data[:min(len(data), 4<<10)]) {
				continue
			}
			testenv.BoundMemory(t, len(data), 4<<20, 2000, func() { drain(t, format, data, lim) })
			r, err := format.Open(t.Context(), "fuzz", bytes.NewReader(data), int64(len(data)), lim)
			if err != nil {
				continue
			}
			direct, kept := passOn(t, r)
			again, err := profilejson.NewReader(t.Context(), "kept", bytes.NewReader(kept), int64(len(kept)), export.Limits{})
			if err != nil {
				t.Fatalf("%v, after the import of %q", err, data)
			}
			if got, _ := passOn(t, again); got != direct {
				t.Fatalf("imported\n%s\nkept and read again\n%s", direct, got)
			}
		}
	})
}

// drain reads all of data.
func drain(t *testing.T, format export.Format, data []byte, lim export.Limits) {
	r, err := format.Open(t.Context(), "fuzz", bytes.NewReader(data), int64(len(data)), lim)
	if err != nil {
		return
	}
	for r.Next() {
	}
	_ = r.Close()
}

// passOn reads all of r, shows it, and writes it as profile_export.json.
func passOn(t *testing.T, r export.Reader) (text string, kept []byte) {
	t.Helper()
	// profile_export.json has excluded requests after the others of a level.
	var all [][2]strings.Builder
	var b bytes.Buffer
	w := &keeper{Writer: profilejson.NewWriter(&b), seen: func(q *export.Request) {
		for len(all) <= r.Experiment() {
			all = append(all, [2]strings.Builder{})
		}
		i := 0
		if q.Excluded() != export.NotExcluded {
			i = 1
		}
		io.WriteString(&all[r.Experiment()][i], runtest.Shown(q)+" "+q.Message+"\n")
	}}
	if err := export.Copy(t.Context(), w, r); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		text += all[i][0].String() + all[i][1].String()
	}
	return text, b.Bytes()
}

// A keeper shows each request that it passes on.
type keeper struct {
	export.Writer
	seen func(*export.Request)
}

func (k *keeper) WriteRequest(r *export.Request) error {
	k.seen(r)
	return k.Writer.WriteRequest(r)
}
