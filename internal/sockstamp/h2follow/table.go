package h2follow

import "slices"

// A table has the streams of a connection that are followed.
type table struct {
	config Config
	open   int    // streams that have not ended
	newest uint32 // highest id of a stream

	streams map[uint32]*stream
	recent  *stream // the last one found, among streams; mostly it is the next one, too
	names   map[string]uint32
	ended   []uint32 // streams that ended and are kept, in the order in which they ended
}

func newTable(c Config) table {
	return table{config: c, streams: map[uint32]*stream{}, names: map[string]uint32{}}
}

// stream returns the stream with that id; nil if it is not followed.
func (t *table) stream(id uint32) *stream {
	if t.recent != nil && t.recent.id == id {
		return t.recent
	}
	s := t.streams[id]
	if s != nil {
		t.recent = s
	}
	return s
}

// begin follows the stream that a request opened. It does nothing for a stream that is not newer
// than all others, and does not follow a stream beyond Config.Streams.
func (t *table) begin(id uint32) {
	if id <= t.newest {
		return
	}
	t.newest = id
	if t.open >= t.config.Streams {
		return
	}
	t.open++
	s := &stream{id: id}
	s.in.most, s.out.most = t.config.Messages, t.config.Messages
	t.streams[id] = s
}

// end notes that nothing more is received on a stream. It keeps the last Config.Ended such streams.
func (t *table) end(id uint32) {
	s := t.stream(id)
	if s == nil || s.ended {
		return
	}
	s.ended = true
	t.open--
	if len(t.ended) >= t.config.Ended {
		t.remove(t.streams[t.ended[0]])
	}
	t.ended = append(t.ended, id)
}

// name gives a stream a name; the newest stream of a name has it.
func (t *table) name(id uint32, name string) {
	if s := t.stream(id); s != nil && s.name == "" {
		s.name = name
		t.names[name] = id
	}
}

// remove drops a stream.
func (t *table) remove(s *stream) {
	delete(t.streams, s.id)
	if t.recent == s {
		t.recent = nil
	}
	if t.names[s.name] == s.id {
		delete(t.names, s.name)
	}
	if !s.ended {
		t.open--
	} else if i := slices.Index(t.ended, s.id); i >= 0 {
		t.ended = slices.Delete(t.ended, i, i+1)
	}
}
