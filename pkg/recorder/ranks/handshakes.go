package ranks

import (
	"net"
	"net/netip"
	"slices"
	"time"
)

const (
	// handshakeTimeout bounds how long a connection may take to prove that it is a rank.
	handshakeTimeout = 5 * time.Second
	// crowdedTimeout takes the place of handshakeTimeout while half of the slots are taken.
	crowdedTimeout = time.Second
	// leastPatience is how long each connection may take, however many others wait: rank 0
	// accepts the next one later. A rank needs one round trip.
	leastPatience = 50 * time.Millisecond
	// leastSlots is the least bound of connections of one source in the handshake. All
	// ranks may share a source, so the bound is never less than the number of ranks.
	leastSlots = 128
)

// A handshake is a connection that has not yet proved that it is a rank.
type handshake struct {
	nc     net.Conn
	source netip.Prefix
	since  time.Time
}

// handshakes are the connections in the handshake, the oldest first. Strangers can fill the
// slots, but not keep them: a new connection takes the slot of the oldest one, which
// has had its chance. A rank that loses its slot connects again.
type handshakes struct {
	perSource int // connections; all sources together have twice as many
	all       []*handshake
	bySource  map[netip.Prefix]int
}

func newHandshakes(ranks int) handshakes {
	return handshakes{perSource: max(leastSlots, ranks), bySource: map[netip.Prefix]int{}}
}

// victim returns the connection that must go before one of source can be added; nil if
// there is room. A source with all its slots loses its own oldest connection; else
// the source with most connections loses its oldest one.
func (p *handshakes) victim(source netip.Prefix) *handshake {
	if p.bySource[source] < p.perSource {
		if len(p.all) < 2*p.perSource {
			return nil
		}
		most := 0
		for _, h := range p.all {
			if n := p.bySource[h.source]; n > most {
				most, source = n, h.source
			}
		}
	}
	return p.all[slices.IndexFunc(p.all, func(h *handshake) bool { return h.source == source })]
}

// crowded reports whether half of the slots, or half of the slots of a source, are taken.
func (p *handshakes) crowded(source netip.Prefix) bool {
	return len(p.all) >= p.perSource || 2*p.bySource[source] >= p.perSource
}

// tooOld returns the connections that have taken longer than crowdedTimeout.
func (p *handshakes) tooOld(now time.Time) []*handshake {
	n := 0
	for n < len(p.all) && now.Sub(p.all[n].since) > crowdedTimeout {
		n++
	}
	return slices.Clone(p.all[:n])
}

func (p *handshakes) add(h *handshake) {
	p.all = append(p.all, h)
	p.bySource[h.source]++
}

// remove removes a connection; false if it has lost its slot before.
func (p *handshakes) remove(h *handshake) bool {
	i := slices.Index(p.all, h)
	if i < 0 {
		return false
	}
	p.all = slices.Delete(p.all, i, i+1)
	if p.bySource[h.source]--; p.bySource[h.source] == 0 {
		delete(p.bySource, h.source)
	}
	return true
}

// sourceOf returns where a connection comes from: an IPv4 address, or the /64 network of an
// IPv6 address; one machine can use all of them.
func sourceOf(addr net.Addr) netip.Prefix {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := ap.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	source, _ := ip.Prefix(bits) // such an address has as many bits
	return source
}
