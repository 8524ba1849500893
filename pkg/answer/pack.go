package answer

import (
	"errors"
	"slices"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/wire/openai"
)

// Pack appends m to p, without its Answer, Gaps and GapTokens, and without what only a StreamQueue needs. Times
// are relative to baseNS.
func (m *Measured) Pack(p *spool.Packer, baseNS uint64) {
	p.Begin()
	for _, v := range [...]bool{m.Counted, m.Paused, m.LeftOut, m.Uncounted, m.StartWrong, m.EndWrong, m.Unlike, m.Untimed, m.Assumed, m.Dropped, m.Numbers} {
		p.Flag(v)
	}
	values := m.values()
	packValues(p, values[:usualValues])
	media := p.Flag(slices.ContainsFunc(values[usualValues:], func(v *export.Int) bool { return *v != export.Int{} }))
	audio := p.Flag(m.Audio.Of != openai.NoAudio)
	server := p.Flag(m.Server != export.ServerDetails{})
	realtime := p.Flag(m.Realtime != nil)
	for _, v := range [...]int{m.Events, m.SharedStamps, m.Backward, m.Impossible, m.Unreadable, int(m.TokenSource), int(m.Streamed)} {
		p.Int(int64(v))
	}
	p.Int(int64(m.FromNS - baseNS))
	p.Int(int64(m.PlaceNS - baseNS))
	notCounted := ""
	if m.NotCounted != nil {
		notCounted = m.NotCounted.Error()
	}
	for _, v := range [...]string{string(m.Excluded), m.Class, m.Message, notCounted} {
		p.Text(v)
	}
	p.Flag(m.NotCounted != nil)
	p.Each(3*len(m.Wrong), 0, func(i int) int64 {
		w := m.Wrong[i/3]
		return [...]int64{int64(w.Of), int64(w.N), w.Value}[i%3]
	})
	p.End()
	if media {
		p.Begin()
		packValues(p, values[usualValues:])
		p.End()
	}
	if audio {
		p.Begin()
		m.Audio.pack(p)
		p.End()
	}
	if realtime {
		p.Begin()
		m.Realtime.pack(p)
		p.End()
	}
	if !server {
		return
	}
	p.Begin()
	for i := range export.ServerNumbers {
		v := export.ServerNumbers[i].Of(&m.Server)
		p.Flag(v.OK)
		p.Int(v.V)
	}
	p.Text(m.Server.PrefillWorker)
	p.Text(m.Server.DecodeWorker)
	p.End()
}

// packValues appends values to the group.
func packValues(p *spool.Packer, values []*export.Int) {
	for _, v := range values {
		p.Flag(v.OK)
		p.Int(v.V)
	}
}

// unpackValues sets values to what packValues appended.
func unpackValues(u *spool.Unpacker, values []*export.Int) {
	for _, v := range values {
		v.OK, v.V = u.Flag(), u.Int()
	}
}

// Places of the texts in [spool.Unpacker.Text]. MeasuredTexts is their number.
const (
	excludedText = iota
	classText
	messageText
	notCountedText
	prefillWorkerText
	decodeWorkerText
	noLengthText
	// MeasuredTexts is the first place that Unpack does not use.
	MeasuredTexts
)

// Unpack sets m to what Pack appended. A NotCounted keeps only its text.
func (m *Measured) Unpack(u *spool.Unpacker, baseNS uint64) {
	u.Begin()
	*m = Measured{Counted: u.Flag(), Paused: u.Flag(), LeftOut: u.Flag(), Uncounted: u.Flag()}
	m.StartWrong, m.EndWrong, m.Unlike, m.Untimed = u.Flag(), u.Flag(), u.Flag(), u.Flag()
	m.Assumed, m.Dropped, m.Numbers = u.Flag(), u.Flag(), u.Flag()
	values := m.values()
	unpackValues(u, values[:usualValues])
	media, audio, server, realtime := u.Flag(), u.Flag(), u.Flag(), u.Flag()
	for _, v := range [...]*int{&m.Events, &m.SharedStamps, &m.Backward, &m.Impossible, &m.Unreadable} {
		*v = int(u.Int())
	}
	m.TokenSource, m.Streamed = TokenSource(u.Int()), Streamed(u.Int())
	m.FromNS, m.PlaceNS = baseNS+uint64(u.Int()), baseNS+uint64(u.Int())
	m.Excluded, m.Class, m.Message = export.Exclusion(u.Text(excludedText)), u.Text(classText), u.Text(messageText)
	text := u.Text(notCountedText)
	if u.Flag() {
		m.NotCounted = errors.New(text)
	}
	u.Each(0, func(n int) { m.Wrong = make([]Wrong, n/3) }, func(i int, v int64) {
		switch w := &m.Wrong[i/3]; i % 3 {
		case 0:
			w.Of = Quantity(v)
		case 1:
			w.N = int(v)
		default:
			w.Value = v
		}
	})
	if media {
		u.Begin()
		unpackValues(u, values[usualValues:])
	}
	if audio {
		u.Begin()
		m.Audio.unpack(u)
	}
	if realtime {
		u.Begin()
		m.Realtime = &Realtime{}
		m.Realtime.unpack(u)
	}
	if !server {
		return
	}
	u.Begin()
	for i := range export.ServerNumbers {
		v := export.ServerNumbers[i].Of(&m.Server)
		v.OK, v.V = u.Flag(), u.Int()
	}
	m.Server.PrefillWorker, m.Server.DecodeWorker = u.Text(prefillWorkerText), u.Text(decodeWorkerText)
}
