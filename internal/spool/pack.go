package spool

import (
	"encoding/binary"
	"slices"
)

// A Packer appends fields to Bytes in a compact form: 8 bytes for up to 64 flags, and after
// them the fields that are not 0. The zero value is ready. See [Unpacker].
type Packer struct {
	Bytes []byte

	header int // offset of the flags
	flags  uint64
	n      int // number of flags
}

// Begin begins a group of fields.
func (p *Packer) Begin() {
	p.header, p.flags, p.n = len(p.Bytes), 0, 0
	p.Bytes = append(p.Bytes, make([]byte, 8)...)
}

// End ends the group. It panics if the group has more than 64 flags.
func (p *Packer) End() {
	if p.n > 64 {
		panic("pack: too many fields for one group")
	}
	binary.LittleEndian.PutUint64(p.Bytes[p.header:], p.flags)
}

// Flag adds a flag, and returns it.
func (p *Packer) Flag(v bool) bool {
	if v {
		p.flags |= 1 << p.n
	}
	p.n++
	return v
}

// Int adds an integer.
func (p *Packer) Int(v int64) {
	if p.Flag(v != 0) {
		p.Bytes = binary.AppendVarint(p.Bytes, v)
	}
}

// Text adds a text.
func (p *Packer) Text(s string) {
	if p.Flag(s != "") {
		p.Bytes = append(binary.AppendUvarint(p.Bytes, uint64(len(s))), s...)
	}
}

// Each adds the differences between n successive integers, and their number. The first
// difference is to from.
func (p *Packer) Each(n int, from int64, at func(i int) int64) {
	if !p.Flag(n > 0) {
		return
	}
	p.Bytes = binary.AppendUvarint(p.Bytes, uint64(n))
	for i := range n {
		v := at(i)
		p.Bytes = binary.AppendVarint(p.Bytes, v-from)
		from = v
	}
}

// An Unpacker reads the fields that a Packer appended, in the same order.
type Unpacker struct {
	Bytes []byte // the rest

	flags uint64
	texts []string // the last text of each place
}

// Begin begins a group of fields.
func (u *Unpacker) Begin() {
	u.flags, u.Bytes = binary.LittleEndian.Uint64(u.Bytes), u.Bytes[8:]
}

// Flag returns the next flag.
func (u *Unpacker) Flag() bool {
	v := u.flags&1 != 0
	u.flags >>= 1
	return v
}

// Int returns the next integer.
func (u *Unpacker) Int() int64 {
	if !u.Flag() {
		return 0
	}
	v, n := binary.Varint(u.Bytes)
	u.Bytes = u.Bytes[n:]
	return v
}

// Text returns the next text. place tells texts apart: an Unpacker keeps the last text of each
// place, so that a text that comes again takes no memory.
func (u *Unpacker) Text(place int) string {
	if !u.Flag() {
		return ""
	}
	n := u.length()
	if place >= len(u.texts) {
		u.texts = slices.Grow(u.texts, place+1)[:place+1]
	}
	if b := u.Bytes[:n]; string(b) != u.texts[place] {
		u.texts[place] = string(b)
	}
	u.Bytes = u.Bytes[n:]
	return u.texts[place]
}

// length returns the next length.
func (u *Unpacker) length() int {
	v, n := binary.Uvarint(u.Bytes)
	u.Bytes = u.Bytes[n:]
	return int(v)
}

// Each calls room with the number of integers that Packer.Each added, and then set with each of them. It
// calls neither if there are none.
func (u *Unpacker) Each(from int64, room func(n int), set func(i int, v int64)) {
	if !u.Flag() {
		return
	}
	count := u.length()
	room(count)
	for i := range count {
		d, n := binary.Varint(u.Bytes)
		u.Bytes = u.Bytes[n:]
		from += d
		set(i, from)
	}
}
