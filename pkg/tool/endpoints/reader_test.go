package endpoints

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/tool/internal/resultfile"
)

// The texts of requests under way are bounded together, and a request that ends frees its texts.
func TestEndpointsTextsUnderWay(t *testing.T) {
	line := func(kind string, ns uint64, sample, data string) string {
		return fmt.Sprintf(`{"event_type":%q,"timestamp_ns":%d,"sample_uuid":%q,"conversation_id":"","turn":null,"data":%s}`, kind, ns, sample, cmp.Or(data, "null")) + "\n"
	}
	issued := func(ns uint64, sample string) string {
		return line("sample.issued", ns, sample, `["PromptData","hi",null,null,null,null,null,null]`)
	}
	complete := func(ns uint64, sample, output string) string {
		return line("sample.complete", ns, sample, `["TextModelOutput",`+output+`,null,null]`)
	}
	long := strings.Repeat("x", 500)
	failed := issued(200, "a") + line("error.generic", 210, "a", `["ErrorData","E","`+long+`"]`)
	for _, tt := range []struct{ name, text, err string }{
		{"ended", failed + complete(220, "a", `"x"`) + issued(300, "b") + line("error.generic", 310, "b", `["ErrorData","E","`+long+`"]`) + complete(320, "b", `"x"`), ""},
		{"an error twice", failed + line("error.generic", 210, "a", `["ErrorData","E","`+long+`"]`) + complete(220, "a", `"x"`), ""},
		{"two errors", failed + issued(300, "b") + line("error.generic", 310, "b", `["ErrorData","E","`+long+`"]`), "error texts of requests under way have more than"},
		{"two ids", issued(200, long) + issued(200, "b"+long), "error texts of requests under way have more than"},
	} {
		text := line("session.started", 100, "", "") + tt.text + line("session.ended", 9001, "", "")
		f := resultfile.NewFile(t.Context(), "events.jsonl", strings.NewReader(text), int64(len(text)), export.Limits{})
		run, s, err := open(f)
		if err != nil {
			t.Fatal(err)
		}
		s.(*source).texts = maxTextBytes - 900
		r := resultfile.NewReader(f, run, s)
		for r.Next() {
		}
		if err := r.Err(); tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.err)
		}
	}
}
