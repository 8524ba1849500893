package journal

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/pa-tools/pa/internal/test/exporttest"
	"github.com/pa-tools/pa/pkg/export"
	"github.com/pa-tools/pa/pkg/recorder"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/load"
	"github.com/pa-tools/pa/pkg/recorder/rxclock"
	"github.com/pa-tools/pa/pkg/recorder/window"
	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A stillDisk lets nothing through until it is let.
type stillDisk struct {
	io.Writer
	let chan struct{}
}

func (d stillDisk) Write(b []byte) (int, error) {
	<-d.let
	return d.Writer.Write(b)
}

// A slowWriter is a Writer on such a disk, which moves again when the run is over.
type slowWriter struct {
	*Writer
	disk    stillDisk
	highest int64 // of what waited
	late    int   // requests that came when the room was taken
	fat     int   // late requests with outputs
}

func (r *slowWriter) WriteRequest(q *export.Request) error {
	waiting, room := r.Backlog()
	r.highest = max(r.highest, waiting)
	if waiting >= room {
		r.late++
		if len(q.Responses) > 0 && !q.OutputsDropped {
			r.fat++
		}
	}
	return r.Writer.WriteRequest(q)
}

func (r *slowWriter) Close(run *export.Run) error {
	close(r.disk.let)
	return r.Writer.Close(run)
}

// On a disk that stands still the run ends by itself, within its memory. What
// was accepted is in the export: every request that the server got, with
// its times, the first ones with every byte and the others marked.
func TestSlowDisk(t *testing.T) {
	var asked, answered atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet { // for the list of models, before the load
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		id := asked.Add(1)
		for range 40 {
			fmt.Fprintf(w, `data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1732000000,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}`+"\n\n", id)
			w.(http.Flusher).Flush()
		}
		if _, err := io.WriteString(w, "data: [DONE]\n\n"); err == nil {
			answered.Add(1)
		}
	}))
	defer srv.Close()
	clock := rxclock.New()
	b, err := openai.New(openai.Config{URL: srv.URL, Endpoint: "v1/chat/completions", Streaming: true})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	path := filepath.Join(t.TempDir(), "x.json")
	rec, err := newTestWriter(path, false)
	if err != nil {
		t.Fatal(err)
	}
	const room = 512 << 10
	rec.cfg.MaxBacklogBytes = room
	openWriter(t, rec)
	w := &slowWriter{Writer: rec, disk: stillDisk{rec.file, make(chan struct{})}}
	rec.queue.dst = w.disk // nothing was written yet
	const slots = 4
	_, err = recorder.Run(t.Context(), recorder.Config{
		Backend: b, Clock: clock, Writer: w, Entries: workload.Builtin(), Levels: load.Closed(slots),
		Measure: window.Measure{Requests: 1_000_000}, Run: export.Run{ServiceKind: new("openai"), Meta: &export.RunMeta{Schema: export.Schema}},
	})
	var be *recorder.BacklogError
	if !errors.As(err, &be) || be.Decode {
		t.Fatalf("error %v, want that the disk is too slow", err)
	}
	// Beyond the room are only the times of what was in flight then and, on a busy
	// machine, of what had ended and waited to be looked at.
	const row = 2 << 10 // 40 times and the prompt, with much to spare
	if w.highest < room || w.highest > room+int64(w.late+1)*row || w.late == 0 || w.fat > 0 {
		t.Errorf("%d bytes waited at most, want %d and the times of %d requests; %d of these have outputs", w.highest, room, w.late, w.fat)
	}
	run, requests := exporttest.Read(t, path)
	if run.Meta.EndNS == 0 || len(run.Experiments) != 1 || run.Experiments[0].Meta == nil {
		t.Fatalf("the export has no end: %+v", run)
	}
	recorded := map[uint64]int{} // by their place in the run
	dropped, whole, silent := 0, 0, 0
	for i := range requests {
		q := &requests[i]
		recorded[q.ID]++
		if q.OutputsDropped {
			dropped++
		}
		if q.Status != export.StatusOK {
			if !q.OutputsDropped {
				silent++ // in flight at the end, without an event so far
			}
			continue
		}
		for _, p := range q.Responses {
			if p.RecvNS == 0 || (p.Outputs == nil) != q.OutputsDropped {
				t.Fatalf("request %d, dropped %v: a response with time %d, outputs %v", q.ID, q.OutputsDropped, p.RecvNS, p.Outputs)
			}
		}
		if _, ok := exporttest.AnswerID(q); ok {
			whole++
		}
	}
	srv.Close() // waits for its last answer, so that the numbers are final
	rows := len(requests)
	if dropped == 0 || whole == 0 || dropped+whole+silent != rows || rows-dropped-whole > slots || run.Experiments[0].Meta.OutputsDropped != dropped {
		t.Errorf("%d requests: %d with outputs, %d without (the header says %d), %d in flight at the end without an event", rows, whole, dropped, run.Experiments[0].Meta.OutputsDropped, silent)
	}
	if n := int(asked.Load()); n > rows || n < rows-slots || int(answered.Load()) < rows-slots {
		t.Errorf("%d requests; the server got %d and answered %d", rows, n, answered.Load())
	}
	for id := uint64(1); id <= uint64(len(requests)); id++ {
		if recorded[id] != 1 {
			t.Errorf("request %d is there %d times", id, recorded[id])
		}
	}
}
