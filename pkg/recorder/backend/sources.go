package backend

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
)

// Sources are the local addresses from which connections to one server are made, in turn.
// A machine has a limited number of ports for each pair of source and server address, so
// more source addresses allow more connections. Each server needs Sources of its own:
// connections that alternate between two servers would use one address for each of them.
// A nil Sources leaves the choice to the system. It is safe for concurrent use.
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

// CheckSources returns an error that names the first of addrs from which this machine
// cannot connect, usually because no interface has it.
func CheckSources(addrs []netip.Addr) error {
	for _, addr := range addrs {
		c, err := net.ListenUDP("udp", &net.UDPAddr{IP: addr.AsSlice(), Zone: addr.Zone()})
		switch {
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			return fmt.Errorf("%v is not an address of this machine", addr)
		case err != nil:
			return fmt.Errorf("%v cannot be used: %s", addr, Cause(err))
		}
		_ = c.Close()
	}
	return nil
}
