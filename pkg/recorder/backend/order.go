package backend

import "github.com/pa-tools/pa/pkg/export"

// PutInOrder makes the times of r's first byte and responses ascending. Times from
// different sources may contradict each other.
//
// The kernel stamps when bytes came, the process when it read them. The kernel may have no
// stamp for the first of two reads, for instance right after stamps were turned on. Then
// the bytes of the second read may have come before the process read the first ones, which
// came earlier still: their time is lowered to the time of the next response. The time of a
// response that waited for a missing segment is lowered too, see package sockstamp: the next
// segment came in order, after the missing segment. A time that is too small for another
// reason (the clock was corrected between two stamps) is raised to the time of the previous
// response.
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
