package synth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/pa-tools/pa/internal/spool"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// Media says which pictures and sounds each prompt has.
type Media struct {
	Seed uint64
	// PicturesEach and SoundsEach are how many of them; 0 is none.
	PicturesEach, SoundsEach int
	Pictures                 Pictures
	Sounds                   Sounds
}

// Validate reports all mistakes at once.
func (m *Media) Validate() error {
	var errs []error
	for _, n := range []int{m.PicturesEach, m.SoundsEach} {
		if n < 0 || n > maxMore {
			errs = append(errs, fmt.Errorf("%d pictures or sounds: must be from 0 to %d", n, maxMore))
		}
	}
	if m.PicturesEach > 0 {
		if err := m.Pictures.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("pictures: %w", err))
		}
	}
	if m.SoundsEach > 0 {
		if err := m.Sounds.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("sounds: %w", err))
		}
	}
	return errors.Join(errs...)
}

// each is how many of both a prompt has.
func (m *Media) each() int { return m.PicturesEach + m.SoundsEach }

// url makes medium i of prompt k: pictures come first.
func (m *Media) url(k, i int) (string, error) {
	if i < m.PicturesEach {
		return m.Pictures.url(m.Seed, uint64(k)|uint64(i)*maxEntries)
	}
	return m.Sounds.url(m.Seed, uint64(k)|uint64(i-m.PicturesEach)*maxEntries), nil
}

// Illustrated is a source of prompts with pictures and sounds. They are made once,
// and kept in a temporary file: to encode one while load is on would cost more
// than to send it. Close it.
type Illustrated struct {
	workload.Source
	m    Media
	file *spool.Spool
	ends []int64 // of each medium in the file
}

// Illustrate adds the media of m to the prompts of src. dir is the folder of the
// temporary file; "" is the system's. The error is that of m.Validate, of the disk,
// or of ctx.
func Illustrate(ctx context.Context, src workload.Source, m Media, dir string) (*Illustrated, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	s := &Illustrated{Source: src, m: m}
	var err error
	s.file, err = spool.Copy(ctx, "made-up pictures and sounds", &maker{s: s}, spool.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	if s.file.Err != nil {
		return nil, errors.Join(s.file.Err, s.Close())
	}
	return s, nil
}

// Close removes the temporary file.
func (s *Illustrated) Close() error { return s.file.Close() }

// At implements workload.Source.
func (s *Illustrated) At(k int) (workload.Entry, error) {
	e, err := s.Source.At(k)
	if err != nil {
		return e, err
	}
	p := *e.Prompt
	e.Prompt = &p
	for i := range s.m.each() {
		n := k*s.m.each() + i
		start := int64(0)
		if n > 0 {
			start = s.ends[n-1]
		}
		url := make([]byte, s.ends[n]-start)
		if _, err := s.file.File.ReadAt(url, start); err != nil {
			return e, fmt.Errorf("made-up pictures and sounds: %w", err)
		}
		kind := workload.Image
		if i >= s.m.PicturesEach {
			kind = workload.Audio
		}
		p.Media = append(p.Media, workload.Medium{Kind: kind, URL: string(url)})
	}
	return e, nil
}

// A maker reads as the URLs of all media, one behind the other, and notes their
// ends. It makes some at a time, each in a goroutine, and waits for all.
type maker struct {
	s    *Illustrated
	next int // the medium to be made
	buf  []byte
}

// Read implements io.Reader.
func (r *maker) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		if err := r.more(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

func (r *maker) more() error {
	each := r.s.m.each()
	left := r.s.Len()*each - r.next
	if left == 0 {
		return io.EOF
	}
	urls := make([]string, min(left, runtime.GOMAXPROCS(0)))
	errs := make([]error, len(urls))
	var group sync.WaitGroup
	for i := range urls {
		group.Go(func() { urls[i], errs[i] = r.s.m.url((r.next+i)/each, (r.next+i)%each) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	end := int64(0)
	if r.next > 0 {
		end = r.s.ends[r.next-1]
	}
	r.buf = r.buf[:0]
	for _, url := range urls {
		r.buf = append(r.buf, url...)
		end += int64(len(url))
		r.s.ends = append(r.s.ends, end)
	}
	r.next += len(urls)
	return nil
}
