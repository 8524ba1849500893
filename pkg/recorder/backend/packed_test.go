package backend_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// respond passes events to x and overwrites their memory afterwards.
func respond(x *backend.Exchange, events [][]byte, owned int) {
	for i, e := range events {
		p := export.Response{RecvNS: uint64(i + 1), Read: uint32(i)}
		raw := bytes.Clone(e)
		if i == owned {
			x.RespondOwned(p, raw)
			continue
		}
		x.Respond(p, raw)
		for k := range raw {
			raw[k] = '#'
		}
	}
}

// same compares an exchange that packs its responses with one that does not.
func same(t *testing.T, what string, packed, plain *backend.Exchange) {
	t.Helper()
	if got, want := slices.Collect(packed.EachRaw()), slices.Collect(plain.EachRaw()); !slices.EqualFunc(got, want, bytes.Equal) {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
	before, last := packed.Tail()
	wantBefore, wantLast := plain.Tail()
	tail := func(got, want []byte) bool { return bytes.Equal(got, want) || len(want) > 16<<10 && len(got) == 0 }
	if !tail(before, wantBefore) || !tail(last, wantLast) {
		t.Fatalf("%s: the last responses are %q, %q, want %q, %q", what, before, last, wantBefore, wantLast)
	}
	if got, want := packed.Request.Responses, plain.Request.Responses; len(got) != len(want) || packed.Request.UnrecordedEvents != plain.Request.UnrecordedEvents {
		t.Fatalf("%s: %d responses and %d events, want %d and %d", what, len(got), packed.Request.UnrecordedEvents, len(want), plain.Request.UnrecordedEvents)
	}
}

// An answer comes out of an exchange that packs it as it came in, also in memory that another answer had.
func FuzzPacked(f *testing.F) {
	stream := bytes.Buffer{}
	for i := range 300 {
		fmt.Fprintf(&stream, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"token %d\"}}]}\n\n|", i*i)
	}
	f.Add([]byte(""), 0, 0)
	f.Add([]byte("a"), 0, 1)
	f.Add([]byte("||a||ab|abab|b|"), 3, 2)
	f.Add(stream.Bytes(), -1, 7)
	f.Add([]byte("small|LARGE|small|small LARGE|LARGE|"), 1, 40<<10)
	f.Add([]byte("0123456789|LARGE|0123456789|"), -1, 3<<10)
	var scratch backend.Scratch
	f.Fuzz(func(t *testing.T, text []byte, owned, times int) {
		large := bytes.Repeat([]byte("L"), min(max(times, 0), 64<<10))
		events := bytes.Split(bytes.ReplaceAll(text, []byte("LARGE"), large), []byte("|"))
		newExchanges := func() (packed, plain *backend.Exchange) {
			packed, plain = &backend.Exchange{}, &backend.Exchange{}
			packed.Pack()
			respond(packed, events, owned)
			respond(plain, events, owned)
			return packed, plain
		}
		for range 2 { // the second time in the memory of the first
			packed, plain := newExchanges()
			same(t, "before it is unpacked", packed, plain)
			packed.Unpack(&scratch)
			if !slices.EqualFunc(packed.Raw, plain.Raw, bytes.Equal) {
				t.Fatalf("unpacked %q, want %q", packed.Raw, plain.Raw)
			}
			if n := len(packed.Fields(len(events))); n != len(events) {
				t.Fatalf("%d fields", n)
			}
			packed.Release()
		}
		packed, plain := newExchanges()
		packed.Cut()
		plain.Cut()
		same(t, "cut", packed, plain)
		packed.Unpack(&scratch)
		same(t, "cut and unpacked", packed, plain)
	})
}

// The events of a stream take a fraction of their bytes, and both forms tell who watches.
func TestPackedStream(t *testing.T) {
	const n = 1000
	x := &backend.Exchange{Arrived: &atomic.Uint64{}}
	told := 0
	x.Received = func(responses int) { told += responses }
	x.Pack()
	size := int64(0)
	for i := range n {
		e := fmt.Appendf(nil, "data: {\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"choices\":[{\"index\":0,\"delta\":{\"content\":\"token %d\"},\"finish_reason\":null}]}\n\n", i)
		size += int64(len(e))
		x.Respond(export.Response{}, e)
	}
	if got := x.RawBytes(); got == 0 || got > size/8 {
		t.Errorf("%d bytes for %d, want at most an eighth", got, size)
	}
	if x.Arrived.Load() != n || told != n*(n+1)/2 {
		t.Errorf("%d arrived, %d told; want %d and %d", x.Arrived.Load(), told, n, n*(n+1)/2)
	}
	x.Release()
	if x.Raw != nil || x.Request.Responses != nil {
		t.Error("the exchange refers to memory that another one uses")
	}
}
