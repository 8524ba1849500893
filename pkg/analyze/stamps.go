package analyze

import (
	"github.com/pa-tools/pa/pkg/export"
)

// Stamps counts timestamps by source.
type Stamps struct {
	Kernel, User, Unknown int
	// Mixed counts requests with stamps of more than one source.
	Mixed int
}

// add counts the responses of r.
func (s *Stamps) add(r *export.Request) {
	before := *s
	if x := r.Summary; x != nil {
		s.plus(Stamps{Kernel: x.Kernel, User: x.User, Unknown: x.N - x.Kernel - x.User})
	}
	for i := range r.Responses {
		s.one(r.Responses[i].Source)
	}
	if s.Kernel > before.Kernel && (s.User > before.User || s.Unknown > before.Unknown) {
		s.Mixed++
	}
}

// one counts a single timestamp.
func (s *Stamps) one(by export.StampSource) {
	switch by {
	case export.SourceKernel:
		s.Kernel++
	case export.SourceUser:
		s.User++
	default:
		s.Unknown++
	}
}

// plus adds the counts of t.
func (s *Stamps) plus(t Stamps) {
	s.Kernel += t.Kernel
	s.User += t.User
	s.Unknown += t.Unknown
	s.Mixed += t.Mixed
}
