package extsort

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"

	"github.com/pa-tools/pa/internal/spool"
)

const (
	firstRun = 8       // number of values for which a Sorter first reserves memory
	leastRun = 64      // least number of values of a full run
	growth   = 4       // factor by which the room grows: pages that are touched for the first time cost more than memory that is reserved
	mostRun  = 1 << 20 // most values of a run in memory
	runShare = 8       // a full run takes at most 1/runShare of the memory

	writeBytes = 1 << 18 // size of a write to the file
)

// A Memory bounds the bytes that the values of its Sorters take in memory. Sorting takes up to
// 12 MiB more and keeps them, and 16 MiB while it sorts runs of the file. While it runs, a merge takes
// up to 10 MiB and Pick up to 20 MiB.
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
	s := &Sorter{memory: m, index: len(m.sorters)}
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

// writeRaw appends the values of a run to the file as a raw run: in the order of Add, 4 or 8 bytes each.
func (m *Memory) writeRaw(r *run) (storedRun, error) {
	if err := m.openFile(); err != nil {
		return storedRun{}, err
	}
	stored := storedRun{from: m.size, n: r.len(), raw: rawWide}
	if len(r.narrow) > 0 {
		stored.raw = rawNarrow
	}
	stored.to = stored.from + int64(stored.raw)*int64(stored.n)
	buf := make([]byte, 0, min(writeBytes, int(stored.to-stored.from)))
	at := stored.from
	for i := range stored.n {
		if stored.raw == rawNarrow {
			buf = binary.LittleEndian.AppendUint32(buf, r.narrow[i])
		} else {
			buf = binary.LittleEndian.AppendUint64(buf, uint64(r.wide[i]))
		}
		if len(buf) == cap(buf) || i == stored.n-1 {
			if _, err := m.file.WriteAt(buf, at); err != nil {
				return storedRun{}, errors.Join(m.writeError(err), m.file.Truncate(m.size))
			}
			at += int64(len(buf))
			buf = buf[:0]
		}
	}
	m.size = stored.to
	return stored, nil
}

// writeSorted writes sorted values in the place of old, a run of the file with the same values, or
// at the end of the file if they need more bytes.
func (m *Memory) writeSorted(sorted *run, old storedRun) (storedRun, error) {
	size, last := int64(0), int64(0)
	for i := range sorted.len() {
		v := sorted.at(i)
		size += int64(uvarintLen(uint64(v) - uint64(last)))
		last = v
	}
	r := storedRun{from: old.from, n: sorted.len()}
	if size > old.to-old.from {
		r.from = m.size
	}
	r.to = r.from
	buf := make([]byte, 0, min(writeBytes, int(size)+binary.MaxVarintLen64))
	last = 0
	for i := range r.n {
		v := sorted.at(i)
		buf = binary.AppendUvarint(buf, uint64(v)-uint64(last))
		last = v
		if len(buf) > cap(buf)-binary.MaxVarintLen64 || i == r.n-1 {
			if _, err := m.file.WriteAt(buf, r.to); err != nil {
				return storedRun{}, m.writeError(err)
			}
			r.to += int64(len(buf))
			buf = buf[:0]
		}
	}
	m.size = max(m.size, r.to)
	return r, nil
}

// uvarintLen returns the number of bytes of v as a uvarint.
func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// openFile creates the temporary file unless it exists.
func (m *Memory) openFile() error {
	if m.file != nil {
		return nil
	}
	f, err := spool.CreateTemporary(m.dir, "pa-sort-*")
	if err != nil {
		return fmt.Errorf("sort in a temporary file: %w; set TMPDIR to a folder that can be written", err)
	}
	m.file = f
	return nil
}

// writeError adds to the error of a write where the file is, and what to do.
func (m *Memory) writeError(err error) error {
	return fmt.Errorf("sort in a temporary file in %s: %w; make room there, or set TMPDIR to a larger disk", cmp.Or(m.dir, os.TempDir()), err)
}
