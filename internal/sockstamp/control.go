package sockstamp

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// Numbers of Linux's interface that are the same on all of Go's ports. They
// are here and not taken from package unix so that the parser is tested on
// every system.
const (
	solSocket = 1
	solIP     = 0
	solIPv6   = 41

	scmTimestampingOld = 37 // three struct timespec of the process's word size
	scmTimestampingNew = 65 // three pairs of int64
	ipRecvErr          = 11 // struct sock_extended_err, then an address
	ipv6RecvErr        = 25

	originTimestamping = 4  // sock_extended_err.ee_origin
	enomsg             = 42 // sock_extended_err.ee_errno of a stamp; 35 on MIPS
	enomsgMIPS         = 35
	tstampSend         = 0 // sock_extended_err.ee_info: went to the device
)

const wordBytes = int(unsafe.Sizeof(uintptr(0)))

// A control holds the values of the control messages of one recvmsg.
type control struct {
	ns uint64 // the software stamp, Unix nanoseconds; 0: none

	// Only a message of the error queue has these.
	transmit bool   // ns is a transmit stamp,
	id       uint32 // of the byte with this number
}

// parseControl reads control messages, which are, for words of w bytes (4 or
// 8), in the machine's byte order:
//
//	 w        4       4
//	+--------+-------+------+------…+
//	| length | level | type | data  | padding to a multiple of w
//	+--------+-------+------+------…+
//
// length counts the header too, not the padding. It skips unknown messages and stops at
// the first malformed one.
func parseControl(b []byte, w int) control {
	var c control
	head := w + 8
	for len(b) >= head {
		var n uint64
		if w == 8 {
			n = binary.NativeEndian.Uint64(b)
		} else {
			n = uint64(binary.NativeEndian.Uint32(b))
		}
		if n < uint64(head) || n > uint64(len(b)) {
			break
		}
		level, typ := binary.NativeEndian.Uint32(b[w:]), binary.NativeEndian.Uint32(b[w+4:])
		data := b[head:n]
		switch {
		case level == solSocket && typ == scmTimestampingOld:
			c.ns = timespecNS(data, w)
		case level == solSocket && typ == scmTimestampingNew:
			c.ns = timespecNS(data, 8)
		case level == solIP && typ == ipRecvErr, level == solIPv6 && typ == ipv6RecvErr:
			c.extendedError(data)
		}
		b = b[min((int(n)+w-1)&^(w-1), len(b)):] // the last need not be padded
	}
	return c
}

// timespecNS returns the first of the three stamps of struct scm_timestamping, the
// software stamp, whose seconds and nanoseconds have w bytes each. It returns 0 without a
// time, and for values that are no times.
func timespecNS(b []byte, w int) uint64 {
	if len(b) < 3*2*w {
		return 0
	}
	var sec, nsec int64
	if w == 8 {
		sec, nsec = int64(binary.NativeEndian.Uint64(b)), int64(binary.NativeEndian.Uint64(b[8:]))
	} else {
		sec, nsec = int64(int32(binary.NativeEndian.Uint32(b))), int64(int32(binary.NativeEndian.Uint32(b[4:])))
	}
	const lastSecond = math.MaxInt64/1_000_000_000 - 1 // so that the sum fits int64
	if sec < 0 || sec > lastSecond || nsec < 0 || nsec >= 1e9 {
		return 0
	}
	return uint64(sec)*1e9 + uint64(nsec)
}

// extendedError reads struct sock_extended_err:
//
//	 4          1           1         1         1     4        4
//	+----------+-----------+---------+---------+-----+--------+--------+
//	| ee_errno | ee_origin | ee_type | ee_code | pad | ee_info| ee_data|
//	+----------+-----------+---------+---------+-----+--------+--------+
func (c *control) extendedError(b []byte) {
	if len(b) < 16 {
		return
	}
	errno := binary.NativeEndian.Uint32(b)
	if (errno == enomsg || errno == enomsgMIPS) && b[4] == originTimestamping &&
		binary.NativeEndian.Uint32(b[8:]) == tstampSend {
		c.transmit = true
		c.id = binary.NativeEndian.Uint32(b[12:])
	}
}
