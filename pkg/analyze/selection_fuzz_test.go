package analyze

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/pa-tools/pa/pkg/analyze/figure"
	"github.com/pa-tools/pa/pkg/export"
)

// Whatever the times are and whatever part is asked for: windows one after the
// other hold what the part holds, no rate is below 0 or no number, and no
// request counts twice.
func FuzzSelection(f *testing.F) {
	f.Add([]byte{}, int64(0), int64(0), int64(1), uint8(0))
	f.Add(binary.BigEndian.AppendUint64(nil, 0x00010002_00030003), int64(5), int64(9), int64(2), uint8(1))
	f.Add([]byte("\x00\x05\x00\x01\x00\x02\x00\x00\x00\x01\x00\x09\x00\x0a\x03\x01\xff\xff\xff\xff\xff\xff\xff\xff"), int64(1), int64(0), int64(3), uint8(2))
	f.Add([]byte("\x00\x01\x00\x01\x00\x02\x00\x00\x00\x01\x00\x09\x00\x0a\x03\x01"), int64(0), int64(0), int64(1), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, a, b, every int64, how uint8) {
		var requests []export.Request
		for ; len(data) >= 8; data = data[8:] {
			start, first, last := binary.BigEndian.Uint16(data), binary.BigEndian.Uint16(data[2:]), binary.BigEndian.Uint16(data[4:])
			r := at(uint64(start), uint64(first), uint64(last))
			r.HasMeta, r.Status, r.Phase = true, export.Status(data[6]%9), export.Phase(data[7]%4)
			if data[7] == 0xff { // of another age
				r.StartNS = math.MaxUint64 - uint64(start)
			}
			requests = append(requests, r)
		}
		cfg := Config{IncludeWarmup: how&8 != 0}
		cfg.Windows.Every = time.Duration(max(every, 1))
		switch how & 3 {
		case 1:
			cfg.Selection.Window = &Interval{From: time.Duration(a), To: time.Duration(b)}
		case 2:
			cfg.Selection.TrimStart, cfg.Selection.TrimEnd = Trim{Length: time.Duration(a)}, Trim{Share: float64(uint8(b)) / 256}
		case 3:
			cfg.Selection.SteadyState = true
		}
		whole := analyzed(t, reader("", requests), Config{IncludeWarmup: cfg.IncludeWarmup}).Experiments[0]
		e := analyzed(t, reader("", requests), cfg).Experiments[0]
		if e.OK > whole.OK || e.FailedRequests() > whole.FailedRequests() {
			t.Fatalf("%d ok and %d failed in a part of %d and %d", e.OK, e.FailedRequests(), whole.OK, whole.FailedRequests())
		}
		check := func(x figure.Throughput) {
			for _, r := range []figure.Rate{x.Requests, x.OutputTokens, x.TotalTokens, x.OutputTokensPerUser} {
				if !(r.PerSecond >= 0) || math.IsInf(r.PerSecond, 0) {
					t.Fatalf("rates %+v", x)
				}
			}
		}
		check(e.Throughput)
		ok := 0
		for i := range e.Windows {
			ok += e.Windows[i].OK
			check(e.Windows[i].Throughput)
		}
		if s := e.Selected; e.Windows != nil && s != nil && ok != e.OK && s.ToNS > s.FromNS {
			t.Fatalf("windows hold %d requests, the part %v holds %d", ok, s.Span, e.OK)
		}
	})
}
