package backend

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// Sources are the local addresses from which connections are made, in turn. A machine has
// a limited number of ports for each pair of source and server address, so more source
// addresses allow more connections. A nil Sources leaves the choice to the system. It is
// safe for concurrent use.
type Sources struct {
	addrs []netip.Addr
	next  atomic.Uint64
}

// NewSources returns the sources of a list of addresses; nil for an empty list.
func NewSources(addrs []netip.Addr) *Sources {
	if len(addrs) == 0 {
		return nil
	}
	return &Sources{addrs: addrs}
}

// Dialer returns the dialer of the next connection.
func (s *Sources) Dialer() net.Dialer {
	if s == nil {
		return net.Dialer{}
	}
	addr := s.addrs[(s.next.Add(1)-1)%uint64(len(s.addrs))]
	return net.Dialer{
		LocalAddr: &net.TCPAddr{IP: addr.AsSlice(), Zone: addr.Zone()},
		// The system must choose the port when it knows the server's address, not before:
		// else the ports of an address are shared by all servers.
		Control: lateBind,
	}
}
