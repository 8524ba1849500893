package answer

import (
	"reflect"
	"testing"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/internal/test/testenv"
)

// Every field of a Measured survives packing, but for the state of a StreamQueue.
func TestPack(t *testing.T) {
	t.Parallel()
	m := &Measured{}
	testenv.Fill(t, m, "stream", "Gaps", "GapTokens") // the owner of a Measured packs its gaps
	m.Realtime = &Realtime{}
	testenv.Fill(t, m.Realtime)
	var p spool.Packer
	for range 2 {
		m.Pack(&p, 1<<40)
		(&Measured{}).Pack(&p, 1<<40)
	}
	u := spool.Unpacker{Bytes: p.Bytes}
	for i, want := range []*Measured{m, {}, m, {}} {
		got := &Measured{}
		if got.Unpack(&u, 1<<40); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
	if len(u.Bytes) > 0 {
		t.Errorf("%d bytes left", len(u.Bytes))
	}
}
