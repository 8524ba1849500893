package recordlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pa-tools/pa/internal/overlap"
	"github.com/pa-tools/pa/pkg/export"
)

// A codec writes the payload of a request, or reads it: the same code says which parts it has. The
// zero value writes.
type codec struct {
	b     []byte // written so far, or not yet read
	err   error  // the first one
	reads bool

	// For reading. The memory belongs to the request until the next one.
	list   []export.Response
	bytes  arena[byte]
	fields arena[export.Field]
	names  map[string]string // texts that requests have in common
}

// appendRequest appends the payload of r to b.
func appendRequest(b []byte, r *export.Request) ([]byte, error) {
	c := codec{b: b}
	c.request(r)
	return c.b, c.err
}

// read reads a payload into r, which then has parts of the payload.
func (c *codec) read(payload []byte, r *export.Request) error {
	*r, c.b, c.err, c.reads = export.Request{}, payload, nil, true
	c.bytes.reset()
	c.fields.reset()
	c.request(r)
	if c.err == nil && len(c.b) > 0 {
		return fmt.Errorf("a request ends %d bytes before its frame", len(c.b))
	}
	return c.err
}

// request is the layout of schemas/journal.md.
func (c *codec) request(r *export.Request) {
	c.small((*uint8)(&r.Status))
	c.small((*uint8)(&r.Phase))
	_, err := export.ParseStatus(r.Status.String())
	c.fail(err)
	_, err = export.ParsePhase(r.Phase.String())
	c.fail(err)
	inputs, responses, stated, extra := r.Inputs != nil, r.Responses != nil, r.Stated != nil, r.Extra != nil
	agent, requestID := r.Agent != "" || r.ParentAgent != "" || r.Depth != 0, r.RequestID != ""
	times := [...]*uint64{&r.ScheduledNS, &r.IssuedNS, &r.SentNS, &r.FirstByteNS, &r.FailedNS}
	var has [len(times)]bool
	for i, t := range times {
		has[i] = *t != 0
	}
	c.flags(&r.HasMeta, &r.NoOutputs, &r.OutputsDropped, &r.Reused, &r.Resent, &inputs, &responses, &stated, &extra,
		&has[0], &has[1], &has[2], &has[3], &has[4], &agent, &requestID)
	c.uint(&r.ID)
	c.uint(&r.StartNS)
	c.small((*uint8)(&r.StartSource))
	for i, t := range times {
		if has[i] {
			c.time(t, r.StartNS)
		}
	}
	for _, d := range [...]*time.Duration{&r.DNS, &r.Connect, &r.TLS} {
		c.int((*int64)(d))
	}
	c.uint(&r.SequenceID)
	for _, n := range [...]*int{&r.Turn, &r.Worker, &r.Conn, &r.Rank, &r.Code, &r.UnrecordedEvents} {
		c.number(n)
	}
	for _, s := range [...]*string{&r.SessionID, &r.Model, &r.Message, &r.ServerID} {
		c.text(s)
	}
	if agent {
		c.text(&r.Agent)
		c.text(&r.ParentAgent)
		c.number(&r.Depth)
	}
	if requestID {
		c.ownText(&r.RequestID)
	}
	if inputs {
		c.fieldList(&r.Inputs)
	}
	if responses {
		c.responses(r)
	}
	if stated {
		c.stated(&r.Stated)
	}
	if extra {
		c.fieldList(&r.Extra)
	}
}

var errShort = errors.New("a request is shorter than it says")

// fail keeps err if it is the first error.
func (c *codec) fail(err error) {
	if err != nil && c.err == nil {
		c.err = err
		if c.reads {
			c.b = nil
		}
	}
}

func (c *codec) small(v *uint8) {
	switch {
	case !c.reads:
		c.b = append(c.b, *v)
	case len(c.b) == 0:
		c.fail(errShort)
	default:
		*v, c.b = c.b[0], c.b[1:]
	}
}

func (c *codec) uint(v *uint64) {
	if !c.reads {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	n, k := binary.Uvarint(c.b)
	if k <= 0 {
		c.fail(errShort)
		return
	}
	*v, c.b = n, c.b[k:]
}

func (c *codec) int(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63)
	if c.uint(&u); c.reads {
		*v = int64(u>>1) ^ -int64(u&1)
	}
}

func (c *codec) number(n *int) {
	v := int64(*n)
	if c.int(&v); c.reads {
		*n = int(v)
	}
}

// time has t as its difference to from, which gives t for all values.
func (c *codec) time(t *uint64, from uint64) {
	d := int64(*t - from)
	if c.int(&d); c.reads {
		*t = from + uint64(d)
	}
}

// flags has a bit for each value, the first one the lowest.
func (c *codec) flags(values ...*bool) {
	var v uint64
	for i, set := range values {
		if *set {
			v |= 1 << i
		}
	}
	if c.uint(&v); !c.reads {
		return
	}
	for i, set := range values {
		*set = v&(1<<i) != 0
	}
	if v>>len(values) != 0 {
		c.fail(fmt.Errorf("a request has unknown flags %#x", v))
	}
}

// count has the number of elements that take at least a byte each.
func (c *codec) count(n int) int {
	v := uint64(n)
	c.uint(&v)
	if c.reads && v > uint64(len(c.b)) {
		c.fail(errShort)
		return 0
	}
	return int(v)
}

// data has the length of *v and its bytes, which it does not copy when it reads.
func (c *codec) data(v *[]byte) {
	n := c.count(len(*v))
	if c.reads {
		*v, c.b = c.b[:n:n], c.b[n:]
	} else {
		c.b = append(c.b, *v...)
	}
}

// Bounds of codec.names: of their number and of the bytes of each.
const (
	maxNames     = 1000
	maxNameBytes = 200
)

// text reads equal texts as the same string as far as possible.
func (c *codec) text(s *string) {
	n := c.count(len(*s))
	if !c.reads {
		c.b = append(c.b, *s...)
		return
	}
	text := c.b[:n]
	c.b = c.b[n:]
	var known bool
	if *s, known = c.names[string(text)]; known || n == 0 {
		return
	}
	*s = string(text)
	if len(c.names) < maxNames && n <= maxNameBytes {
		if c.names == nil {
			c.names = map[string]string{}
		}
		c.names[*s] = *s
	}
}

// ownText is text for texts that no two requests have in common.
func (c *codec) ownText(s *string) {
	text := []byte(*s)
	if c.data(&text); c.reads {
		*s = string(text)
	}
}

func (c *codec) stated(s **export.Stated) {
	var text []byte
	var err error
	if !c.reads {
		text, err = json.Marshal(*s)
		c.fail(err)
	}
	if c.data(&text); c.reads {
		*s = &export.Stated{}
		c.fail(json.Unmarshal(text, *s))
	}
}

func (c *codec) fieldList(fields *export.Fields) {
	c.namesOf(fields)
	for i := range *fields {
		v := &(*fields)[i].Value
		data := v.Bytes()
		if c.data(&data); c.reads {
			v.Data = data
		}
	}
}

// namesOf has the number of fields, and their names and kinds.
func (c *codec) namesOf(fields *export.Fields) {
	if n := c.count(len(*fields)); c.reads {
		*fields = c.fields.take(n)
		clear(*fields)
	}
	for i := range *fields {
		f := &(*fields)[i]
		c.text(&f.Name)
		c.flags(&f.Value.Text)
	}
}

func (c *codec) responses(r *export.Request) {
	if n := c.count(len(r.Responses)); c.reads {
		if c.list == nil || cap(c.list) < n {
			c.list = make([]export.Response, n)
		}
		r.Responses = c.list[:n]
		clear(r.Responses)
	}
	var last export.Fields // the outputs before
	shared := 0
	at, read := r.StartNS, ^uint32(0)
	for i := range r.Responses {
		p := &r.Responses[i]
		kernel, user := p.Source&export.SourceKernel != 0, p.Source&export.SourceUser != 0
		has, alike, next := p.Outputs != nil, namedAlike(last, p.Outputs), p.Read == read+1
		c.flags(&kernel, &user, &p.Final, &p.Error, &has, &alike, &next)
		c.time(&p.RecvNS, at)
		ordinal := uint64(p.Read)
		if read++; !next {
			c.uint(&ordinal)
			read = uint32(ordinal)
		}
		if at = p.RecvNS; c.reads {
			p.Read = read
			if kernel {
				p.Source = export.SourceKernel
			}
			if user {
				p.Source |= export.SourceUser
			}
		}
		if p.Source > export.SourceUser {
			c.fail(fmt.Errorf("response %d: unknown source %q of its time", i, p.Source))
		}
		if has {
			c.outputs(&p.Outputs, last, alike, &shared)
			last = p.Outputs
		}
		if c.err != nil {
			return
		}
	}
}

// namedAlike reports whether both have the same names and kinds of values.
func namedAlike(a, b export.Fields) bool {
	if len(a) != len(b) || a == nil {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Value.Text != b[i].Value.Text {
			return false
		}
	}
	return true
}

// outputs has the outputs of a response. alike says that they have the names of last, the outputs
// before. shared counts the bytes that outputs leave out.
func (c *codec) outputs(fields *export.Fields, last export.Fields, alike bool, shared *int) {
	switch {
	case !alike:
		c.namesOf(fields)
	case c.reads:
		*fields = c.fields.take(len(last))
		copy(*fields, last)
	}
	for i := range *fields {
		v := &(*fields)[i].Value
		var before []byte
		if i < len(last) {
			before = last[i].Value.Bytes()
		}
		if c.reads {
			v.Data = c.readValue(before, shared)
		} else {
			c.writeValue(v.Bytes(), before, shared)
		}
	}
}

const (
	// maxShared bounds the bytes that the outputs of a request leave out, and so the memory of a
	// small frame that claims large values.
	maxShared = 32 << 20
	// minShared is the least number of bytes that is worth leaving out.
	minShared = 4
)

// writeValue appends v without the bytes at its ends that before has, too.
func (c *codec) writeValue(v, before []byte, shared *int) {
	prefix := overlap.Prefix(before, v)
	suffix := overlap.Suffix(before[prefix:], v[prefix:])
	if n := prefix + suffix; n < minShared || *shared+n > maxShared {
		c.b = append(binary.AppendUvarint(c.b, uint64(len(v))<<1), v...)
		return
	}
	*shared += prefix + suffix
	v = v[prefix : len(v)-suffix]
	c.b = binary.AppendUvarint(c.b, uint64(len(v))<<1|1)
	c.b = binary.AppendUvarint(c.b, uint64(prefix))
	c.b = append(binary.AppendUvarint(c.b, uint64(suffix)), v...)
}

// readValue is the inverse of writeValue.
func (c *codec) readValue(before []byte, shared *int) []byte {
	var size, prefix, suffix uint64
	c.uint(&size)
	if size&1 != 0 {
		c.uint(&prefix)
		c.uint(&suffix)
	}
	if size >>= 1; size > uint64(len(c.b)) {
		c.fail(errShort)
		return nil
	}
	v := c.b[:size:size]
	c.b = c.b[size:]
	if prefix|suffix == 0 {
		return v
	}
	if prefix > uint64(len(before)) || suffix > uint64(len(before))-prefix {
		c.fail(fmt.Errorf("an output shares %d and %d bytes with one of %d", prefix, suffix, len(before)))
		return nil
	}
	if *shared += int(prefix + suffix); *shared > maxShared {
		c.fail(fmt.Errorf("the outputs of a request share more than %d bytes", maxShared))
		return nil
	}
	out := c.bytes.take(int(prefix + size + suffix))
	copy(out[copy(out, before[:prefix]):], v)
	copy(out[prefix+size:], before[uint64(len(before))-suffix:])
	return out
}

// An arena gives out slices that stay valid until reset. The zero value is ready.
type arena[T any] struct {
	block []T // the largest so far
	free  []T // rest of it
}

// reset takes all slices back.
func (a *arena[T]) reset() { a.free = a.block }

// take returns a slice of n elements, not nil, with any content.
func (a *arena[T]) take(n int) []T {
	if n > len(a.free) || a.free == nil {
		const least = 64
		a.block = make([]T, max(n, 2*len(a.block), least))
		a.free = a.block
	}
	out := a.free[:n:n]
	a.free = a.free[n:]
	return out
}
