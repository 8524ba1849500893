package openai

import (
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// Revised stamps replace the kernel's stamps of their reads: of the first byte, of all
// responses of the read, and of a response that only the end of the body completes.
func TestRevise(t *testing.T) {
	kernel := func(ns uint64) stamp { return stamp{ns: ns, source: export.SourceKernel} }
	late := func(read uint32, ns uint64) revision {
		return revision{read, stamp{ns: ns, source: export.SourceUser, waited: true}}
	}
	times := func(x *backend.Exchange) (ns []uint64) {
		for i, p := range x.Request.Responses {
			if user := p.Source == export.SourceUser; user != (p.RecvNS >= 1000) {
				t.Errorf("response %d has %d from %v", i, p.RecvNS, p.Source)
			}
			ns = append(ns, p.RecvNS)
		}
		return append(ns, x.Request.FirstByteNS)
	}
	for _, tt := range []struct {
		name      string
		revisions []revision
		want      []uint64 // responses, first byte
		waited    int
	}{
		{"none", nil, []uint64{20, 20, 30, 1040, 50, 10}, 1},
		{"a read of two", []revision{late(1, 1021)}, []uint64{1021, 1021, 30, 1040, 50, 10}, 3},
		{"a read of none", []revision{late(9, 1091)}, []uint64{20, 20, 30, 1040, 50, 10}, 1},
		{"the first and the last", []revision{late(0, 1011), late(2, 1031), late(4, 1051)}, []uint64{20, 20, 1031, 1040, 1051, 1011}, 3},
		{"waited when it was read", []revision{late(3, 2000)}, []uint64{20, 20, 30, 1040, 50, 10}, 1},
	} {
		x := &backend.Exchange{Request: export.Request{FirstByteNS: 10}}
		a := answer{b: newBackend(t, Config{URL: "h"})}
		a.begin(x)
		a.head(respond(200, "text/event-stream"), kernel(10), 0)
		for i, part := range []string{"data: a\n\ndata: b\n\n", "data: c\n\n", "data: d\n\n", "data: e"} {
			at := kernel(20 + 10*uint64(i))
			if i == 2 {
				at = stamp{ns: 1040, source: export.SourceUser, waited: true}
			}
			if err := a.data([]byte(part), at, uint32(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		a.revise(tt.revisions, 0)
		a.end(io.EOF)
		if diff := cmp.Diff(tt.want, times(x)); diff != "" || x.Waited != tt.waited {
			t.Errorf("%s: waited %d, want %d; times (-want +got):\n%s", tt.name, x.Waited, tt.waited, diff)
		}
	}
}
