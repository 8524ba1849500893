package nettest

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"

	"golang.org/x/sys/unix"
)

// Shape limits the rate at which packets leave by a network interface of this thread's
// network, as "tc qdisc add dev DEVICE root tbf rate … burst 32kb limit 25mb" does. The error
// is unix.ENOENT or unix.EOPNOTSUPP if the kernel has no token bucket filter.
func Shape(device string, bytesPerSecond uint32) error {
	const (
		burst       = 32 << 10 // bytes
		limit       = 25 << 20
		optionParms = 1 // TCA_TBF_PARMS
		optionBurst = 6 // TCA_TBF_BURST
		ethernet    = 1 // TC_LINKLAYER_ETHERNET
	)
	link, err := net.InterfaceByName(device)
	if err != nil {
		return err
	}
	native := binary.NativeEndian
	attribute := func(kind uint16, data []byte) []byte {
		b := native.AppendUint16(nil, uint16(4+len(data)))
		b = append(native.AppendUint16(b, kind), data...)
		return append(b, make([]byte, -len(b)&3)...)
	}
	parms := make([]byte, 36) // struct tc_tbf_qopt: two of tc_ratespec, limit, buffer, mtu
	parms[1] = ethernet
	native.PutUint32(parms[8:], bytesPerSecond)
	native.PutUint32(parms[24:], limit)
	options := slices.Concat(attribute(optionParms, parms), attribute(optionBurst, native.AppendUint32(nil, burst)))

	m := make([]byte, unix.SizeofNlMsghdr+20) // struct tcmsg
	native.PutUint16(m[4:], unix.RTM_NEWQDISC)
	native.PutUint16(m[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_REPLACE)
	native.PutUint32(m[unix.SizeofNlMsghdr+4:], uint32(link.Index))
	native.PutUint32(m[unix.SizeofNlMsghdr+8:], 1<<16)       // handle 1:
	native.PutUint32(m[unix.SizeofNlMsghdr+12:], 0xffffffff) // TC_H_ROOT
	m = slices.Concat(m, attribute(1, []byte("tbf\x00")), attribute(2, options))
	native.PutUint32(m, uint32(len(m)))

	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	if err := unix.Sendto(s, m, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return err
	}
	if n < unix.SizeofNlMsghdr+4 {
		return errors.New("no answer of the kernel about the token bucket filter")
	}
	if code := int32(native.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// Shape limits the rate at which a network sends over the link; see the function Shape.
func (l *Link) Shape(network int, bytesPerSecond uint32) (err error) {
	l.In(network, func() { err = Shape(deviceName, bytesPerSecond) })
	return err
}
