package shards

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/pa-tools/pa/internal/stat"
	"github.com/pa-tools/pa/pkg/export"
)

const (
	// pageIDs is the number of ids of a page of Requests.
	pageIDs = 1 << 12
	// maxPages bounds the memory of Requests to 32 MiB: 16 million ids.
	maxPages = 1 << 12
	// fewestSame is the least number of requests whose equal start times prove a copy. A single
	// time may be the same by chance.
	fewestSame = 2
)

// Requests notices requests that do not belong to their file: a request that says that another
// rank sent it, and a request that two shards of a run have. Ids are unique in a run, and no two
// ranks start all their requests in the same nanoseconds, so a run as it was recorded has no
// such request. The zero value has no files. Its methods may be called in any goroutine.
//
// It compares all ids of a run of up to 16 million requests. Of a larger run, or of ids far
// apart, it compares the first ones, and of all requests the start times.
type Requests struct {
	mu    sync.Mutex
	files []requestFile
	pages map[uint64]*[pageIDs]uint16 // by id / pageIDs: 1 + the index of the file; 0 for none
	err   error
}

// A requestFile summarizes the requests of a file.
type requestFile struct {
	name    string
	rank    int
	started int    // number of requests with a start time
	sum     uint64 // of the hashes of the start times, so that their order does not matter
}

// A RequestError reports requests that contradict the rank of their file.
type RequestError struct {
	Files []string // one, or two with the same requests
	Text  string
}

func (e *RequestError) Error() string { return e.Text }

// Is reports that the error is an [export.ErrContradiction].
func (e *RequestError) Is(target error) bool { return target == export.ErrContradiction }

// AnyRank is the rank of a file that holds the requests of all ranks.
const AnyRank = -1

// File adds a shard of the run, or the whole run with the rank AnyRank. Its index is the argument
// of Add.
func (x *Requests) File(name string, rank int) (index int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files = append(x.files, requestFile{name: name, rank: rank})
	return len(x.files) - 1
}

// Add notes a request of a file, before its clock is shifted. It returns a *RequestError if the
// request does not belong to the file, or if the file has another request with its id. Err does not
// return an error about a repeated id in one file, because several files do not contradict each
// other then.
func (x *Requests) Add(index int, q *export.Request) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := &x.files[index]
	if q.StartNS != 0 {
		f.started++
		f.sum += stat.Mix(q.StartNS)
	}
	if !q.HasMeta {
		return nil
	}
	if f.rank != AnyRank && q.Rank != 0 && q.Rank != f.rank { // a recorder need not write the rank
		return x.keep(&RequestError{[]string{f.name}, fmt.Sprintf(
			"%s: request %d says that rank %d sent it, but pa.shard says that the file is of rank %d; the file was changed: give the file that rank %d wrote", f.name, q.ID, q.Rank, f.rank, f.rank)})
	}
	if q.ID == 0 || index+1 > math.MaxUint16 {
		return nil
	}
	page := x.pages[q.ID/pageIDs]
	if page == nil {
		if len(x.pages) == maxPages {
			return nil
		}
		if x.pages == nil {
			x.pages = map[uint64]*[pageIDs]uint16{}
		}
		page = new([pageIDs]uint16)
		x.pages[q.ID/pageIDs] = page
	}
	at := &page[q.ID%pageIDs]
	switch owner := int(*at) - 1; {
	case owner < 0:
		*at = uint16(index + 1)
		return nil
	case owner == index:
		return &RequestError{[]string{f.name}, fmt.Sprintf("request %d is in the file twice; the file was changed after the recording, or merged from copies", q.ID)}
	default:
		return x.keep(repeated(&x.files[owner], f, fmt.Sprintf("request %d is in both", q.ID)))
	}
}

// keep keeps err for Err if it is the first error, and returns it.
func (x *Requests) keep(err error) error {
	if x.err == nil {
		x.err = err
	}
	return err
}

// repeated returns the error about two files with the same requests.
func repeated(a, b *requestFile, text string) error {
	if b.rank < a.rank {
		a, b = b, a
	}
	return &RequestError{[]string{a.name, b.name}, fmt.Sprintf(
		"%s and %s hold the same requests, although they are of ranks %d and %d: %s; one of them is a copy: give the file that each rank wrote", a.name, b.name, a.rank, b.rank, text)}
}

// Err returns the first error of Add about two files or a wrong rank, or the error of End.
func (x *Requests) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// End returns the error of Err. Without one it returns a *RequestError about two files whose
// requests all started at the same times. Call it when all files were read to their ends.
func (x *Requests) End() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		return x.err
	}
	sorted := slices.Clone(x.files)
	slices.SortStableFunc(sorted, func(a, b requestFile) int {
		return cmp.Or(cmp.Compare(a.started, b.started), cmp.Compare(a.sum, b.sum))
	})
	for i := 1; i < len(sorted); i++ {
		if a, b := &sorted[i-1], &sorted[i]; a.started >= fewestSame && a.started == b.started && a.sum == b.sum {
			return x.keep(repeated(a, b, fmt.Sprintf("all %d start at the same times", a.started)))
		}
	}
	return nil
}
