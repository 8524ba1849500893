package sockstamp

import (
	"encoding/binary"
	"testing"
)

// message appends a control message.
func message(b []byte, w int, level, typ uint32, data []byte) []byte {
	n := w + 8 + len(data)
	if w == 8 {
		b = binary.NativeEndian.AppendUint64(b, uint64(n))
	} else {
		b = binary.NativeEndian.AppendUint32(b, uint32(n))
	}
	b = binary.NativeEndian.AppendUint32(b, level)
	b = binary.NativeEndian.AppendUint32(b, typ)
	b = append(b, data...)
	for len(b)%w != 0 {
		b = append(b, 0xa5)
	}
	return b
}

// timespecs is struct scm_timestamping with fields of w bytes.
func timespecs(w int, sec, nsec int64) []byte {
	var b []byte
	for _, v := range []int64{sec, nsec, 7, 7, 9, 9} {
		if w == 8 {
			b = binary.NativeEndian.AppendUint64(b, uint64(v))
		} else {
			b = binary.NativeEndian.AppendUint32(b, uint32(v))
		}
	}
	return b
}

// extended is struct sock_extended_err with an address behind it.
func extended(errno uint32, origin byte, info, data uint32) []byte {
	b := binary.NativeEndian.AppendUint32(nil, errno)
	b = append(b, origin, 0, 0, 0)
	b = binary.NativeEndian.AppendUint32(b, info)
	b = binary.NativeEndian.AppendUint32(b, data)
	return append(b, make([]byte, 16)...)
}

func TestParseControl(t *testing.T) {
	const (
		sec, nsec = 1_800_000_000, 123_456_789
		ns        = sec*1e9 + nsec
	)
	for _, w := range []int{4, 8} {
		stamp := message(nil, w, solSocket, scmTimestampingOld, timespecs(w, sec, nsec))
		wide := message(nil, w, solSocket, scmTimestampingNew, timespecs(8, sec, nsec))
		other := message(nil, w, solSocket, 29, make([]byte, 5)) // padded
		sent := extended(enomsg, originTimestamping, tstampSend, 41)
		tests := []struct {
			name string
			in   []byte
			want control
		}{
			{"empty", nil, control{}},
			{"stamp", stamp, control{ns: ns}},
			{"stamp of the newer option", wide, control{ns: ns}},
			{"behind something else", append(append([]byte(nil), other...), stamp...), control{ns: ns}},
			{"before something else", append(append([]byte(nil), stamp...), other...), control{ns: ns}},
			{"transmit, IPv4", message(stamp, w, solIP, ipRecvErr, sent), control{ns: ns, transmit: true, id: 41}},
			{"transmit, IPv6", message(stamp, w, solIPv6, ipv6RecvErr, sent), control{ns: ns, transmit: true, id: 41}},
			{"transmit on MIPS", message(nil, w, solIP, ipRecvErr, extended(enomsgMIPS, originTimestamping, tstampSend, 1)), control{transmit: true, id: 1}},
			{"handed to the packet scheduler", message(stamp, w, solIP, ipRecvErr, extended(enomsg, originTimestamping, 1, 41)), control{ns: ns}},
			{"an ICMP error", message(nil, w, solIP, ipRecvErr, extended(111, 2, 0, 41)), control{}},
			{"extended error cut", message(nil, w, solIP, ipRecvErr, sent[:15]), control{}},
			{"other level", message(nil, w, 6, scmTimestampingOld, timespecs(w, sec, nsec)), control{}},
			{"no software stamp", message(nil, w, solSocket, scmTimestampingOld, timespecs(w, 0, 0)), control{}},
			{"before 1970", message(nil, w, solSocket, scmTimestampingOld, timespecs(w, -1, 5)), control{}},
			{"nanoseconds of a second and more", message(nil, w, solSocket, scmTimestampingOld, timespecs(w, 1, 1e9)), control{}},
			{"negative nanoseconds", message(nil, w, solSocket, scmTimestampingOld, timespecs(w, 1, -1)), control{}},
			{"far future", message(nil, w, solSocket, scmTimestampingNew, timespecs(8, 1<<62, 0)), control{}},
			{"two stamps of three", message(nil, w, solSocket, scmTimestampingOld, timespecs(w, sec, nsec)[:4*w]), control{}},
			{"cut", stamp[:len(stamp)-1], control{}},
			{"length beyond the end", append(append([]byte(nil), stamp...), message(nil, w, 9, 9, make([]byte, 64))[:20]...), control{ns: ns}},
			{"length below the header", append(make([]byte, w+8), stamp...), control{}},
		}
		for _, tt := range tests {
			if got := parseControl(tt.in, w); got != tt.want {
				t.Errorf("words of %d: %s: parseControl = %+v, want %+v", w, tt.name, got, tt.want)
			}
		}
	}
}

// Whole messages before a stamp do not hide it, and no bytes make the parser panic or invent a
// time.
func FuzzParseControl(f *testing.F) {
	f.Add([]byte{}, true, uint32(1), uint32(2), []byte("abc"))
	f.Add(message(nil, 8, solSocket, scmTimestampingOld, timespecs(8, 5, 6)), true, uint32(solIP), uint32(ipRecvErr), extended(enomsg, 4, 0, 3))
	f.Add(message(nil, 4, solSocket, scmTimestampingNew, timespecs(8, 5, 6)), false, uint32(solSocket), uint32(scmTimestampingOld), []byte{1})
	f.Fuzz(func(t *testing.T, raw []byte, wide bool, level, typ uint32, data []byte) {
		w := 4
		if wide {
			w = 8
		}
		if c := parseControl(raw, w); c.ns > 1<<63-1 {
			t.Errorf("parseControl(%x) = %d ns", raw, c.ns)
		}
		b := message(nil, w, level, typ, data)
		b = message(b, w, solSocket, scmTimestampingOld, timespecs(w, 12, 34))
		b = message(b, w, solIP, ipRecvErr, extended(enomsg, originTimestamping, tstampSend, 77))
		if got, want := parseControl(b, w), (control{ns: 12_000_000_034, transmit: true, id: 77}); got != want {
			t.Errorf("parseControl(%x) = %+v, want %+v", b, got, want)
		}
	})
}
