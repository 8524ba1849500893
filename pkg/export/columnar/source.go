package columnar

import (
	"cmp"
	"io"

	"github.com/pa-tools/pa/pkg/export/columnar/internal/pages"
)

// A source reads the rows of a file, batch by batch. Its errors do not name the file or the
// batch.
type source interface {
	batches() int
	// open starts reading batch i, as v says.
	open(i int, v view) (batchRows, error)
	// has reports whether the file has a column.
	has(col int) bool
	// fingerprint returns a number that depends on the content of the file, as far as it is cheap to
	// know.
	fingerprint() uint64
	// sample returns the rows to be checked of batch i, which has that many rows. Other seeds give
	// other rows.
	sample(seed uint64, i, rows int) rowSample
	// ahead returns the number of blocks of rows of a batch that may wait for the reader. It
	// is 0 unless several batches can be read at the same time, each by a goroutine of its own.
	ahead() int
	// brief reports whether all requests of batch i may have a summary in place of responses.
	brief(i int) bool
	// shareWith makes the source use less memory, as n files are read at the same time.
	shareWith(n int)
	// place returns the name of batch i for messages.
	place(i int) string
	// free drops memory that later batches would use again. No batch is open.
	free()
	close() error
}

// A batchRows reads the rows of one batch.
type batchRows interface {
	// rows returns the next rows of the batch; nil after the last rows. They are valid for the
	// next source.ahead()+1 calls, or until the next call for view.atOnce.
	rows() (*rows, error)
	// release leaves the memory of all rows to other batches. It is called at most once, at
	// the end.
	release()
}

// A wholeBatch returns all rows of a batch at once.
type wholeBatch struct {
	read func() (*rows, error) // nil after the call
}

func (b *wholeBatch) release() {}

func (b *wholeBatch) rows() (*rows, error) {
	if b.read == nil {
		return nil, nil
	}
	read := b.read
	b.read = nil
	return read()
}

// A part selects either the excluded or the counted requests of one experiment in one
// batch.
type part struct {
	experiment int
	excluded   bool
	batch      int
	// all selects all requests of the batch instead, because the file has them in the
	// order of the contract.
	all bool
}

// compare returns a number below 0 if the requests of p come before the requests of q in the order of the
// contract, and above 0 if they come after them.
func (p part) compare(q part) int {
	if c := cmp.Compare(p.experiment, q.experiment); c != 0 || p.excluded == q.excluded {
		return cmp.Or(c, p.batch-q.batch)
	}
	if q.excluded {
		return -1
	}
	return 1
}

// rows holds some rows of a file by the columns of the full schema; nil for a column that
// the file lacks.
type rows struct {
	n    int
	cols [numColumns]*pages.Vector
	// brief says that the requests have a summary in place of responses.
	brief bool
	// checks are the rows to be checked, ascending.
	checks []checkedRow
}

// A checkedRow is a row to be checked.
type checkedRow struct {
	index int   // in the rows that hold the checkedRow
	rows  *rows // with all columns of the file; nil if they cannot be read
	at    int   // index of the row in rows
	// outputs says that rows have the columns of inputs and outputs, as far as the file has them.
	outputs bool
	err     error // why the columns cannot be read
}

// A view says which columns of a batch are read.
type view struct {
	wanted func(col int) bool // the columns of all rows
	// sample returns the rows to be checked of a batch with that many rows; nil for none.
	sample func(rows int) rowSample
	// more reports whether a row to be checked has a column that other rows lack.
	more   func(col int) bool
	atOnce bool // rows are used before the next call, so that the batch needs less memory
}

// A rowSample names rows of a batch to be checked.
type rowSample struct {
	rows    []int // ascending
	outputs bool  // with inputs and outputs
}

// readAt fills b from offset off. It ignores io.EOF if b is full.
func readAt(src io.ReaderAt, b []byte, off int64) error {
	n, err := src.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	return err
}
