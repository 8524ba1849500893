package backend

import "github.com/pa-tools/pa/pkg/export"

// PutInOrder sees to it that the times of r's responses do not go back, nor that
// of its first byte, where different hands took them.
//
// The kernel says when bytes came, the process when it read them. Where the
// kernel has no stamp for the first of two reads, as in the first instant after
// stamps were asked for, the bytes of the second may have come before the first
// was read. The first ones came earlier still: their time is lowered to that of
// the next. What is out of order for another reason (a correction of the clock
// between two stamps) is raised to the one before.
func PutInOrder(r *export.Request) {
	rs := r.Responses
	for i := len(rs) - 2; i >= 0; i-- {
		if rs[i].Source == export.SourceUser && rs[i].RecvNS > rs[i+1].RecvNS {
			rs[i].RecvNS = rs[i+1].RecvNS
		}
	}
	for i := 1; i < len(rs); i++ {
		rs[i].RecvNS = max(rs[i].RecvNS, rs[i-1].RecvNS)
	}
	if len(rs) > 0 {
		r.FirstByteNS = min(r.FirstByteNS, rs[0].RecvNS)
	}
}
