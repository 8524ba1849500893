package kserve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	wire "github.com/pa-tools/pa/pkg/wire/kserve"
)

// inputRegionBytes is the least size of a region for inputs. put reserves the memory of
// each input.
const inputRegionBytes = 16 << 20

// regionNumber makes the names of regions unique in the process.
var regionNumber atomic.Int64

// sharing is the shared memory of a backend, in regions that the server has mapped as well.
// It holds each input once. Each slot has a region for its outputs.
type sharing struct {
	b *Backend

	mu      sync.Mutex
	regions []*region
	current *region // for inputs
	used    int
	placed  map[[sha256.Size]byte]wire.Shared
}

// put copies the data of an input to a region and returns its place. Equal data has one
// place.
func (s *sharing) put(data []byte) (*wire.Shared, error) {
	key := sha256.Sum256(data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.placed[key]; ok {
		return &at, nil
	}
	if s.current == nil || len(s.current.data)-s.used < len(data) {
		r, err := s.add(max(len(data), inputRegionBytes), 0)
		if err != nil {
			return nil, err
		}
		s.current, s.used = r, 0
	}
	if err := s.current.reserve(s.used, len(data)); err != nil {
		return nil, fmt.Errorf("shared memory for inputs: %w", err)
	}
	at := wire.Shared{Region: s.current.name, Offset: int64(s.used), Bytes: int64(len(data))}
	s.used += copy(s.current.data[s.used:], data)
	if s.placed == nil {
		s.placed = map[[sha256.Size]byte]wire.Shared{}
	}
	s.placed[key] = at
	return &at, nil
}

// add creates a region with reserved bytes and makes the server map it. The caller holds
// s.mu.
func (s *sharing) add(size, reserved int) (*region, error) {
	r, err := newRegion(fmt.Sprintf("pa-record-%d-%d", os.Getpid(), regionNumber.Add(1)), size, reserved)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	err = s.b.afterwards(func(ctx context.Context, c control) error { return c.register(ctx, r.name, "/"+r.name, int64(size)) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: shared memory: %w; is the server on this host, with the same /dev/shm?", s.b.target.host, s.b.hide(err)), r.remove())
	}
	s.regions = append(s.regions, r)
	return r, nil
}

// close makes the server unmap all regions and removes them.
func (s *sharing) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.regions) == 0 {
		return nil
	}
	var errs []error
	err := s.b.afterwards(func(ctx context.Context, c control) error {
		for _, r := range s.regions {
			if err := c.unregister(ctx, r.name); err != nil {
				return err // the others would fail, too
			}
		}
		return nil
	})
	if err != nil {
		errs = append(errs, fmt.Errorf("%s: the server keeps shared memory of this run: %w", s.b.target.host, s.b.hide(err)))
	}
	for _, r := range s.regions {
		errs = append(errs, r.remove())
	}
	s.regions, s.current, s.placed = nil, nil, nil
	return errors.Join(errs...)
}

// outputs is the place of the outputs of a slot's requests.
type outputs struct {
	region *region
	each   int
	names  []string
	asked  []wire.RequestedOutput
	resp   wire.Response // reused
}

// outputs returns a region for a slot; nil without shared memory.
func (s *sharing) outputs() (*outputs, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &outputs{names: s.b.outputs, each: int(s.b.cfg.OutputSharedBytes * s.b.batch)}
	size := max(o.each*len(o.names), 1)
	r, err := s.add(size, size)
	if err != nil {
		return nil, err
	}
	o.region = r
	for i, name := range o.names {
		o.asked = append(o.asked, wire.RequestedOutput{Name: name, Shared: &wire.Shared{
			Region: r.name, Offset: int64(i * o.each), Bytes: int64(o.each),
		}})
	}
	return o, nil
}

// fill copies the data in the region to the parsed response in o.resp. It is called before
// the slot's next request, which overwrites the region.
func (o *outputs) fill() error {
	for i := range o.resp.Outputs {
		t := &o.resp.Outputs[i]
		for k, name := range o.names {
			if t.Name != name || len(t.Data) > 0 {
				continue
			}
			all := o.region.data[k*o.each : (k+1)*o.each]
			n, err := wire.SizeOf(t.Datatype, t.Shape, all)
			if err != nil {
				return fmt.Errorf("output %q in shared memory: %w", name, err)
			}
			t.Data = append([]byte(nil), all[:n]...)
		}
		t.Binary, t.Shared = false, nil
	}
	return nil
}

// grpc returns an answer with the data of its outputs copied into it. An answer that
// cannot be read stays unchanged.
func (o *outputs) grpc(raw []byte, streamed bool) []byte {
	parse := o.resp.ParseProto
	if streamed {
		parse = o.resp.ParseStream
	}
	if parse(raw) != nil || o.resp.Error != "" || o.fill() != nil {
		return raw
	}
	if streamed {
		return o.resp.AppendStream(nil)
	}
	return o.resp.AppendProto(nil)
}

// http is grpc for a body.
func (o *outputs) http(body []byte) []byte {
	if o.resp.ParseHTTP(body, -1) != nil || o.resp.Error != "" || o.fill() != nil {
		return body
	}
	full, _ := o.resp.AppendHTTP(nil)
	return full
}
