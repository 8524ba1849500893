package guidellm

import (
	"bytes"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/aiperf"
	"github.com/pa-tools/pa/pkg/tool/infperf"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

func FuzzWrite(f *testing.F) {
	runtest.FuzzWriter(f, `"type_": "generative_request_stats"`, resultfile.Formats(aiperf.ResultFile(), infperf.ResultFile(), ResultFile(), serving.ResultFile()), fuzzed)
}

func fuzzed(t *testing.T, r export.Reader, b *bytes.Buffer) bool {
	w := newWriter(releases[len(releases)-1], r.Run())
	defer w.close()
	if w.readAll(t.Context(), r) != nil {
		return false
	}
	for i := range w.levels {
		if w.levels[i].tokenEvents > 1<<12 {
			return false // takes its time, and no other way
		}
	}
	if w.write(b) != nil {
		return false
	}
	_, err := py.ParseJSON(b.String(), py.JSON)
	if err != nil {
		t.Fatal(err)
	}
	return true
}
