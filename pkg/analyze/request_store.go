package analyze

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A pointStore keeps the points of a level, packed, until all are read.
type pointStore struct {
	records spool.Records
	// unnumbered says that a point has no ID.
	unnumbered bool
	// unsettled says that a gap of a point ends before the place of the point.
	unsettled bool
	// places holds the Place of each point in order; nil: not wanted.
	places   []uint32
	unpacker pointUnpacker
}

// add keeps a copy of p.
func (s *pointStore) add(p *Point) {
	s.records.Add(p.PlaceNS, p.ID, p.pack)
	s.unnumbered = s.unnumbered || !p.Numbered
	s.unsettled = s.unsettled || slices.ContainsFunc(p.GapNS, func(end uint64) bool { return end < p.PlaceNS })
}

// sort orders the points by their starts, and by their ids if the starts are equal. Sums over the points
// then have the same digits in whatever order the shards of a run are read. No point may be added after it.
func (s *pointStore) sort() { s.records.Sort() }

// number makes each set the Place of the points. It is called after sort.
func (s *pointStore) number() {
	order := make([]uint32, s.records.Len())
	for i := range order {
		order[i] = uint32(i)
	}
	if !s.unnumbered {
		slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(s.records.Second(int(a)), s.records.Second(int(b))) })
	}
	s.places = make([]uint32, len(order))
	for place, i := range order {
		s.places[i] = uint32(place)
	}
}

// each calls do with the points in their order until it returns false. The point is valid until do
// returns, and do may change it.
func (s *pointStore) each(do func(p *Point) bool) {
	var p Point
	s.records.Each(func(i int, record []byte) bool {
		s.unpacker.Bytes = record
		s.unpacker.unpack(&p)
		if s.places != nil {
			p.Place = int(s.places[i])
		}
		if !s.unsettled {
			p.SettledNS = p.PlaceNS
		}
		return do(&p)
	})
}

// modelText is the place of Model in [spool.Unpacker.Text].
const modelText = answer.MeasuredTexts

// pack appends p to k, without its Place.
func (p *Point) pack(k *spool.Packer) {
	k.Begin()
	k.Int(int64(p.StartNS))
	k.Int(int64(p.EndNS - p.StartNS))
	k.Int(int64(p.ID))
	k.Int(int64(p.turn))
	k.Text(p.Model)
	for _, v := range [...]int{p.stamps.Kernel, p.stamps.User, p.stamps.Unknown, p.stamps.Mixed, int(p.start)} {
		k.Int(int64(v))
	}
	for _, v := range [...]bool{p.Numbered, p.complete, p.cancelled, p.damaged, p.resent, p.early, p.answeredEarly} {
		k.Flag(v)
	}
	if k.Flag(p.InputHash != 0) { // all its bits are random
		k.Bytes = binary.LittleEndian.AppendUint64(k.Bytes, p.InputHash)
	}
	k.Each(len(p.TokenNS), int64(p.StartNS), func(i int) int64 { return int64(p.TokenNS[i]) })
	// The gaps of an answer with one choice follow from the times of its tokens.
	if !k.Flag(len(p.GapNS) > 0 && slices.Equal(p.GapNS, p.TokenNS[min(1, len(p.TokenNS)):])) {
		k.Each(len(p.GapNS), int64(p.StartNS), func(i int) int64 { return int64(p.GapNS[i]) })
	}
	if !k.Flag(gapsFollow(p.Gaps, p.TokenNS)) {
		k.Each(len(p.Gaps), 0, func(i int) int64 { return p.Gaps[i] })
	}
	k.Each(len(p.GapTokens), 0, func(i int) int64 { return int64(p.GapTokens[i]) })
	k.End()
	p.Pack(k, p.StartNS)
}

// gapsFollow reports whether the gaps are the differences between the times of successive tokens.
func gapsFollow(gaps []int64, tokens []uint64) bool {
	if len(gaps) == 0 || len(gaps) != len(tokens)-1 {
		return false
	}
	for i, g := range gaps {
		if g != int64(tokens[i+1]-tokens[i]) {
			return false
		}
	}
	return true
}

// A pointUnpacker reads points that Point.pack appended. A point is valid until the next one is read.
type pointUnpacker struct {
	spool.Unpacker
	gaps         []int64
	gapTokens    []int32
	tokens, ends []uint64
}

// unpack sets p to the next point.
func (u *pointUnpacker) unpack(p *Point) {
	u.Begin()
	start := uint64(u.Int())
	*p = Point{StartNS: start, EndNS: start + uint64(u.Int()), ID: uint64(u.Int()), turn: int(u.Int())}
	p.Model = u.Text(modelText)
	for _, v := range [...]*int{&p.stamps.Kernel, &p.stamps.User, &p.stamps.Unknown, &p.stamps.Mixed} {
		*v = int(u.Int())
	}
	p.start = export.StampSource(u.Int())
	for _, v := range [...]*bool{&p.Numbered, &p.complete, &p.cancelled, &p.damaged, &p.resent, &p.early, &p.answeredEarly} {
		*v = u.Flag()
	}
	if u.Flag() {
		p.InputHash, u.Bytes = binary.LittleEndian.Uint64(u.Bytes), u.Bytes[8:]
	}
	var gaps []int64
	var gapTokens []int32
	u.Each(int64(start), func(n int) { p.TokenNS = sized(&u.tokens, n) }, func(i int, v int64) { p.TokenNS[i] = uint64(v) })
	if u.Flag() {
		p.GapNS = p.TokenNS[1:]
	} else {
		u.Each(int64(start), func(n int) { p.GapNS = sized(&u.ends, n) }, func(i int, v int64) { p.GapNS[i] = uint64(v) })
	}
	if u.Flag() {
		gaps = sized(&u.gaps, len(p.TokenNS)-1)
		for i := range gaps {
			gaps[i] = int64(p.TokenNS[i+1] - p.TokenNS[i])
		}
	} else {
		u.Each(0, func(n int) { gaps = sized(&u.gaps, n) }, func(i int, v int64) { gaps[i] = v })
	}
	u.Each(0, func(n int) { gapTokens = sized(&u.gapTokens, n) }, func(i int, v int64) { gapTokens[i] = int32(v) })
	p.Unpack(&u.Unpacker, start)
	p.Gaps, p.GapTokens = gaps, gapTokens
}

// sized returns a slice of n elements in the memory of buf, which grows if it is too small.
func sized[T any](buf *[]T, n int) []T {
	if cap(*buf) < n {
		*buf = make([]T, n)
	}
	return (*buf)[:n]
}
