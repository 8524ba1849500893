package infperf

import (
	"bytes"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/aiperf"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

func FuzzWrite(f *testing.F) {
	runtest.FuzzWriter(f, "\n    \"start_time\": ", resultfile.Formats(aiperf.ResultFile(), ResultFile(), guidellm.ResultFile(), serving.ResultFile()), fuzzed)
}

func fuzzed(t *testing.T, r export.Reader, b *bytes.Buffer) bool {
	w := newWriter(releases[len(releases)-1], r.Run(), dialect.Config{Tokenizer: words{}}, b)
	if w.writeAll(t.Context(), r) != nil {
		return false
	}
	all := w.summaries()
	for i := range all {
		var s bytes.Buffer
		if err := all[i].write(&s); err != nil {
			t.Fatal(err)
		}
		if _, err := py.ParseJSON(s.String(), py.JSON); err != nil {
			t.Fatal(err)
		}
	}
	return len(all) > 0
}
