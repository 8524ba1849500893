package recorder

import (
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/window"
)

// A run's record states streaming only if the statement holds for all its requests.
func TestAsked(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name  string
		a     asked
		given *bool
		want  *bool
	}{
		{"all ask", asked{yes: 3}, nil, &yes},
		{"all ask, though the flag did not", asked{yes: 3}, &no, &yes},
		{"none asks", asked{no: 3}, nil, &no},
		{"some ask", asked{yes: 1, no: 2}, &yes, nil},
		{"no request says it", asked{}, &yes, &yes},
		{"nothing says it", asked{}, nil, nil},
	} {
		if got := tt.a.record(tt.given); (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

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
