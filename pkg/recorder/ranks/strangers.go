package ranks

import (
	"net/netip"

	"github.com/pa-tools/pa/internal/plural"
)

// Strangers counts the connections to rank 0 that did not prove that they belong to the run.
type Strangers struct {
	Connections int `json:"connections,omitempty"`
	// Addresses is how many different addresses they came from. Networks of 64 bits count
	// as one IPv6 address. Counting ends at 1,000.
	Addresses int `json:"addresses,omitempty"`
}

// maxSources bounds the addresses that are counted separately.
const maxSources = 1000

// String returns a sentence, "" if there were none: "3 connections from 1 address did not
// prove that they belong to the run".
func (s Strangers) String() string {
	if s.Connections <= 0 {
		return ""
	}
	addresses := "1 address"
	switch {
	case s.Addresses >= maxSources:
		addresses = "at least " + plural.Grouped(maxSources) + " addresses"
	case s.Addresses > 1:
		addresses = plural.Grouped(s.Addresses) + " addresses"
	}
	return plural.GroupedOf(s.Connections, "connection") + " from " + addresses + " did not prove that " + plural.Form(s.Connections, "it belongs", "they belong") + " to the run"
}

// behind returns the sentence as the end of another one; "" if there were none.
func (s Strangers) behind() string {
	if text := s.String(); text != "" {
		return "; " + text
	}
	return ""
}

// strangerCount counts strangers. The zero value is ready for use.
type strangerCount struct {
	connections int
	sources     map[netip.Prefix]bool
}

func (c *strangerCount) add(source netip.Prefix) {
	c.connections++
	if c.sources == nil {
		c.sources = map[netip.Prefix]bool{}
	}
	if len(c.sources) < maxSources {
		c.sources[source] = true
	}
}

// with returns the count including connections that are still in the handshake.
func (c *strangerCount) with(waiting []*handshake) Strangers {
	s := Strangers{c.connections + len(waiting), len(c.sources)}
	more := map[netip.Prefix]bool{}
	for _, h := range waiting {
		if !c.sources[h.source] {
			more[h.source] = true
		}
	}
	s.Addresses = min(s.Addresses+len(more), maxSources)
	return s
}
