package extsort

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/pa-tools/pa/internal/spool"
)

const (
	leastRun = 64      // number of values for which a Sorter first reserves memory
	growth   = 4       // of the room: pages that are touched for the first time cost more than memory that is reserved
	mostRun  = 1 << 20 // most values of a run in memory
	runShare = 8       // a full run takes at most 1/runShare of the memory

	writeBytes = 1 << 18 // size of a write to the file
)

// A Memory bounds the bytes that the values of its Sorters take in memory. Sorting takes up to
// 12 MiB more and keeps them. While it runs, a merge takes up to 10 MiB and Pick up to 19 MiB.
type Memory struct {
	max     int64 // 0: no bound
	used    int64 // capacity of the Sorters' runs
	dir     string
	sorters []*Sorter
	scratch []int64  // buffer for sorting
	narrow  []uint32 // as well

	file *spool.Temporary // all runs outside memory; nil before the first
	size int64            // bytes of the file
	full error            // why no more runs go to the file
}

// NewMemory returns a Memory of maxBytes; 0 keeps all values in memory. The temporary file
// is created in dir when it is needed; "" is the system's folder for temporary files.
func NewMemory(maxBytes int64, dir string) *Memory { return &Memory{max: maxBytes, dir: dir} }

// NewSorter returns a Sorter without values.
func (m *Memory) NewSorter() *Sorter {
	s := &Sorter{memory: m}
	m.sorters = append(m.sorters, s)
	return s
}

// Full returns the error of the temporary file after which values stay in memory, even beyond
// the bound; nil without an error.
func (m *Memory) Full() error { return m.full }

// Close removes the temporary file. The Sorters must not be used any more.
func (m *Memory) Close() error {
	if m.file == nil {
		return nil
	}
	err := m.file.Close()
	m.file = nil
	return err
}

// mostRun returns the number of values of a full run.
func (m *Memory) mostRun() int {
	if m.max == 0 {
		return mostRun
	}
	return int(min(max(m.max/8/runShare, leastRun), mostRun))
}

// makeRoom moves runs to the file until n more bytes fit in memory, or there is nothing to
// move.
func (m *Memory) makeRoom(n int64) {
	if m.max == 0 {
		return
	}
	for m.used+n > m.max && m.full == nil {
		var fullest *Sorter
		for _, s := range m.sorters {
			if fullest == nil || s.bytes() > fullest.bytes() {
				fullest = s
			}
		}
		if fullest == nil || fullest.bytes() == 0 {
			return
		}
		m.full = fullest.spill()
	}
}

// write appends sorted values to the file.
func (m *Memory) write(sorted run) (storedRun, error) {
	if m.file == nil {
		f, err := spool.CreateTemporary(m.dir, "pa-sort-*")
		if err != nil {
			return storedRun{}, fmt.Errorf("sort in a temporary file: %w; set TMPDIR to a folder that can be written", err)
		}
		m.file = f
	}
	r := storedRun{from: m.size, to: m.size, n: sorted.len()}
	buf := make([]byte, 0, min(writeBytes, binary.MaxVarintLen64*(sorted.len()+1)))
	last := int64(0)
	for i := range r.n {
		v := sorted.at(i)
		buf = binary.AppendUvarint(buf, uint64(v)-uint64(last))
		last = v
		if len(buf) > cap(buf)-binary.MaxVarintLen64 || i == r.n-1 {
			if _, err := m.file.WriteAt(buf, r.to); err != nil {
				err = fmt.Errorf("sort in a temporary file in %s: %w; make room there, or set TMPDIR to a larger disk", cmp.Or(m.dir, os.TempDir()), err)
				return storedRun{}, errors.Join(err, m.file.Truncate(m.size))
			}
			r.to += int64(len(buf))
			buf = buf[:0]
		}
	}
	m.size = r.to
	return r, nil
}
