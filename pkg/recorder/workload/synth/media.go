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

// Media describes the synthetic images and audio of each prompt.
type Media struct {
	Seed uint64
	// ImagesPerPrompt and AudioPerPrompt are counts; 0 makes none.
	ImagesPerPrompt, AudioPerPrompt int
	Images                          Images
	Audio                           Audio
}

// Validate reports all mistakes at once.
func (m *Media) Validate() error {
	var errs []error
	for _, n := range []int{m.ImagesPerPrompt, m.AudioPerPrompt} {
		if n < 0 || n > maxMore {
			errs = append(errs, fmt.Errorf("%d images or audio: must be from 0 to %d", n, maxMore))
		}
	}
	if m.ImagesPerPrompt > 0 {
		if err := m.Images.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("images: %w", err))
		}
	}
	if m.AudioPerPrompt > 0 {
		if err := m.Audio.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("audio clips: %w", err))
		}
	}
	return errors.Join(errs...)
}

// perPrompt returns the number of media of a prompt.
func (m *Media) perPrompt() int { return m.ImagesPerPrompt + m.AudioPerPrompt }

// url generates medium i of prompt k as a data: URL. Images come first.
func (m *Media) url(k, i int) (string, error) {
	if i < m.ImagesPerPrompt {
		return m.Images.url(m.Seed, uint64(k)|uint64(i)*maxEntries)
	}
	return m.Audio.url(m.Seed, uint64(k)|uint64(i-m.ImagesPerPrompt)*maxEntries), nil
}

// A MediaSource is a source of prompts with images and audio. It generates all media
// once and keeps them in a temporary file, because encoding one under load costs more
// than sending it. The caller must close it.
type MediaSource struct {
	workload.Source
	m    Media
	seed uint64 // of the first set
	dir  string
	file *spool.Spool
	ends []int64 // end of each medium in the file
}

// AddMedia adds the media of m to the prompts of src. dir is the folder of the
// temporary file; "" means the system's. AddMedia returns an error from m.Validate,
// from the disk, or from ctx.
func AddMedia(ctx context.Context, src workload.Source, m Media, dir string) (*MediaSource, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	s := &MediaSource{Source: src, m: m, seed: m.Seed, dir: dir}
	if err := s.make(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// make generates the media.
func (s *MediaSource) make(ctx context.Context) (err error) {
	s.ends = s.ends[:0]
	s.file, err = spool.Copy(ctx, "synthetic images and audio", &mediaReader{s: s}, spool.Config{Dir: s.dir})
	if err != nil {
		return err
	}
	if s.file.Err != nil {
		return errors.Join(s.file.Err, s.Close())
	}
	return nil
}

// Use replaces the media by the media of a set. After an error the source has no media and
// need not be closed. The error is from the disk, or from ctx.
func (s *MediaSource) Use(ctx context.Context, set workload.Set) error {
	if s.file == nil {
		return errors.New("synthetic images and audio: the source is closed, or an earlier Use failed")
	}
	err := s.Close()
	s.m.Seed = set.Seed(s.seed)
	return errors.Join(err, s.make(ctx))
}

// Close removes the temporary file.
func (s *MediaSource) Close() error {
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	return file.Close()
}

// At implements workload.Source.
func (s *MediaSource) At(k int) (workload.Entry, error) {
	e, err := s.Source.At(k)
	if err != nil {
		return e, err
	}
	p := *e.Prompt
	e.Prompt = &p
	for i := range s.m.perPrompt() {
		n := k*s.m.perPrompt() + i
		start := int64(0)
		if n > 0 {
			start = s.ends[n-1]
		}
		url := make([]byte, s.ends[n]-start)
		if _, err := s.file.File.ReadAt(url, start); err != nil {
			return e, fmt.Errorf("synthetic images and audio: %w", err)
		}
		kind := workload.Image
		if i >= s.m.ImagesPerPrompt {
			kind = workload.Audio
		}
		p.Media = append(p.Media, workload.Medium{Kind: kind, URL: string(url)})
	}
	return e, nil
}

// A mediaReader reads the URLs of all media in succession and records where each ends.
// It generates a few at a time, each in a goroutine, and waits for all of them.
type mediaReader struct {
	s    *MediaSource
	next int // the next medium to generate
	buf  []byte
}

// Read implements io.Reader.
func (r *mediaReader) Read(p []byte) (int, error) {
	if len(r.buf) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// fill generates the next media into r.buf. It returns io.EOF after the last.
func (r *mediaReader) fill() error {
	each := r.s.m.perPrompt()
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
