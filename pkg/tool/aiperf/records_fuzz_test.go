package aiperf

import (
	"bytes"
	"testing"

	"github.com/pa-tools/pa/internal/py"
	"github.com/pa-tools/pa/internal/test/runtest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/dialect"
	"github.com/pa-tools/pa/pkg/tool/guidellm"
	"github.com/pa-tools/pa/pkg/tool/infperf"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
	"github.com/pa-tools/pa/pkg/tool/serving"
)

func FuzzWrite(f *testing.F) {
	runtest.FuzzWriter(f, "\n", resultfile.Formats(ResultFile(), infperf.ResultFile(), guidellm.ResultFile(), serving.ResultFile()), fuzzed)
}

func fuzzed(t *testing.T, r export.Reader, b *bytes.Buffer) bool {
	if _, err := releases[0].writeRecords(t.Context(), r, dialect.Config{Tokenizer: blanks{}}, b); err != nil {
		return false
	}
	for line := range bytes.Lines(b.Bytes()) {
		if _, err := py.ParseJSON(string(line), py.ORJSON); err != nil {
			t.Fatal(err)
		}
	}
	return b.Len() > 0
}
