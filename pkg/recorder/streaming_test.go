package recorder

import (
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// A server that streams although nobody asked is not recorded as one that did not.
func TestStreamedUnasked(t *testing.T) {
	for _, responses := range []int{1, 2} {
		answers := func(uint64) answer {
			return answer{after: time.Millisecond, status: export.StatusOK, responses: responses}
		}
		w, _, _, err := record(t, answers, Config{
			Levels: load.Closed(1), Measure: window.Measure{Requests: 2}, Run: export.Run{Meta: &export.RunMeta{Streaming: new(bool)}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.run.Meta.Streaming; (got != nil) != (responses == 1) {
			t.Errorf("answers of %d responses: the record of streaming is %v", responses, got)
		}
	}
}
