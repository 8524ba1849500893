package backend

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pa-tools/pa/pkg/export"
)

func TestPutInOrder(t *testing.T) {
	const k, u = export.SourceKernel, export.SourceUser
	type at struct {
		NS     uint64
		Source export.StampSource
	}
	for _, tt := range []struct {
		name        string
		first       uint64
		at          []at
		wantFirst   uint64
		wantReceive []uint64
	}{
		{name: "nothing", first: 5, wantFirst: 5},
		{name: "in order", first: 5, at: []at{{5, k}, {5, k}, {7, u}, {9, k}}, wantFirst: 5, wantReceive: []uint64{5, 5, 7, 9}},
		{name: "read late", first: 8, at: []at{{8, u}, {8, u}, {6, k}, {9, k}}, wantFirst: 6, wantReceive: []uint64{6, 6, 6, 9}},
		{name: "head read late", first: 8, at: []at{{6, k}}, wantFirst: 6, wantReceive: []uint64{6}},
		{name: "twice read late", first: 9, at: []at{{9, u}, {11, u}, {7, k}}, wantFirst: 7, wantReceive: []uint64{7, 7, 7}},
		{name: "clock put right", first: 5, at: []at{{5, k}, {8, k}, {7, k}, {7, u}, {9, k}}, wantFirst: 5, wantReceive: []uint64{5, 8, 8, 8, 9}},
		{name: "first byte not known", at: []at{{5, k}}, wantReceive: []uint64{5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := export.Request{FirstByteNS: tt.first}
			for _, a := range tt.at {
				r.Responses = append(r.Responses, export.Response{RecvNS: a.NS, Source: a.Source})
			}
			PutInOrder(&r)
			var got []uint64
			for _, resp := range r.Responses {
				got = append(got, resp.RecvNS)
			}
			if diff := cmp.Diff(tt.wantReceive, got); diff != "" {
				t.Errorf("responses (-want +got):\n%s", diff)
			}
			if r.FirstByteNS != tt.wantFirst {
				t.Errorf("first byte %d, want %d", r.FirstByteNS, tt.wantFirst)
			}
		})
	}
}
