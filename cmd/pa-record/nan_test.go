package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pa-tools/pa/internal/test/exporttest"
)

// nanServer is a Triton server over HTTP with a model that answers NaN, +Inf and 1. It answers
// after a millisecond, so that time windows have fewer requests.
func nanServer(t *testing.T) string {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const tensor = `{"name":"%s","datatype":"FP32","shape":[3]%s}`
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/infer"):
			time.Sleep(time.Millisecond)
			head := `{"model_name":"m","model_version":"1","outputs":[` + fmt.Sprintf(tensor, "OUT", `,"parameters":{"binary_data_size":12}`) + `]}`
			w.Header().Set("Inference-Header-Content-Length", strconv.Itoa(len(head)))
			_, _ = w.Write([]byte(head + "\x00\x00\xc0\x7f" + "\x00\x00\x80\x7f" + "\x00\x00\x80\x3f"))
		case strings.HasSuffix(path, "/config"):
			fmt.Fprint(w, `{"name":"m","max_batch_size":0,"input":[{"name":"IN","data_type":"TYPE_FP32","dims":[3]}],"output":[{"name":"OUT","data_type":"TYPE_FP32","dims":[3]}]}`)
		case strings.HasSuffix(path, "/models/m"):
			fmt.Fprintf(w, `{"name":"m","versions":["1"],"platform":"x","inputs":[`+tensor+`],"outputs":[`+tensor+`]}`, "IN", "", "OUT", "")
		default:
			fmt.Fprint(w, `{}`)
		}
	}))
	t.Cleanup(h.Close)
	return strings.TrimPrefix(h.URL, "http://")
}

// Tensors that are no numbers of JSON are kept, in windows of either kind, and the
// export is whole. perf_analyzer leaves a file that breaks off at the first.
func TestWindowsOfNaN(t *testing.T) {
	t.Parallel()
	url := nanServer(t)
	for mode, tt := range map[string]struct {
		least int // requests in a window; on a busy machine one of 50 ms may have none
		flags []string
	}{
		"time windows":  {0, []string{"-p", "50"}},
		"count windows": {5, []string{"--measurement-mode", "count_windows", "--measurement-request-count", "5"}},
	} {
		path := filepath.Join(t.TempDir(), "x.json")
		code, _, stderr := inProcess(t.Context(), t, append(tt.flags, "-m", "m", "-u", url, "-s", "1e9", "--profile-export-file", path)...)
		if code != 0 {
			t.Fatalf("%s: exit code %d: %s", mode, code, stderr)
		}
		run, requests := exporttest.Read(t, path)
		good := 0
		for i := range requests {
			if r := &requests[i]; r.Excluded() == "" {
				if good++; string(r.Responses[0].Outputs[0].Value.Data) != `["NaN","Infinity",1.0]` {
					t.Errorf("%s: request %d has %s", mode, r.ID, r.Responses[0].Outputs[0].Value.Data)
				}
			}
		}
		if windows := len(run.Experiments[0].WindowBoundaries) - 1; windows < 3 || good < max(1, tt.least*windows) {
			t.Errorf("%s: %d good requests in %d windows", mode, good, windows)
		}
	}
}
