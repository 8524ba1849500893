package kserve

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/pa-tools/pa/internal/kserve"
	"github.com/pa-tools/pa/internal/test/testenv"
	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// The outline is what a full parse of the message gives.
func FuzzScan(f *testing.F) {
	for _, r := range []wire.Response{
		{},
		{Error: "boom"},
		text("7", "a"),
		text("7", "a", final),
		text("7", "a", wire.Param{Name: "other", Value: "x"}, notFinal),
		{ID: "7", Error: "boom", Params: []wire.Param{final}},
	} {
		f.Add(r.AppendStream(nil))
	}
	f.Add([]byte{0x0a, 0x05})
	f.Fuzz(func(t *testing.T, b []byte) {
		testenv.BoundMemory(t, len(b), 1<<20, 100, func() { scan(b) })
		scan(b) // whatever it is, no panic
		var m pb.ModelStreamInferResponse
		if proto.Unmarshal(b, &m) != nil {
			return // scan looks into less and may accept more
		}
		canon, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
		if err != nil {
			return
		}
		o, ok := scan(canon)
		if !ok {
			t.Fatalf("refused: %v", &m)
		}
		p, has := m.GetInferResponse().GetParameters()[wire.ParamFinal]
		if p != nil {
			_, has = p.ParameterChoice.(*pb.InferParameter_BoolParam)
		}
		if string(o.id) != m.GetInferResponse().GetId() || string(o.errText) != m.ErrorMessage || o.hasFinal != has || o.final != p.GetBoolParam() {
			t.Fatalf("scan %+v, message %v", o, &m)
		}
	})
}

func TestScanAllocates(t *testing.T) {
	r := text("7", "some text", notFinal)
	b := r.AppendStream(nil)
	if n := testing.AllocsPerRun(100, func() {
		if o, ok := scan(b); !ok || !o.hasFinal {
			t.Fatal(o, ok)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkScan(b *testing.B) {
	r := text("123456", " quick", notFinal)
	msg := r.AppendStream(nil)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := scan(msg); !ok {
			b.Fatal("refused")
		}
	}
}
