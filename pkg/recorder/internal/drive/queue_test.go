package drive

import (
	"testing"

	"github.com/pa-tools/pa/pkg/recorder/backend"
)

// The queue counts what it and the collector hold.
func TestQueueBytes(t *testing.T) {
	q := NewQueue()
	var want int64
	for i := range 3 {
		x := &backend.Exchange{Raw: [][]byte{make([]byte, 1000*i), make([]byte, 5)}}
		want += exchangeBytes(x)
		q.Put(x)
	}
	if got := q.Bytes(); got != want || got < 3000 {
		t.Errorf("%d bytes wait, want %d", got, want)
	}
	items := q.Take(nil)
	if got := q.Bytes(); got != want {
		t.Errorf("%d bytes after they were taken, want %d until they are done", got, want)
	}
	for _, x := range items {
		q.Done(x)
	}
	if got := q.Bytes(); got != 0 || len(items) != 3 {
		t.Errorf("%d bytes after all %d are done", got, len(items))
	}
}
