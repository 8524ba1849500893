package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pa-tools/pa/pkg/export"
)

// errStop is why a run ends at once.
var errStop = errors.New("stop at once")

// The context for writing files ends a moment after the run's context.
func TestOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		longer, release := outlive(ctx, time.Second)
		defer release()
		time.Sleep(time.Hour)
		cancel(errStop)
		begin := time.Now()
		<-longer.Done()
		if d := time.Since(begin); d != time.Second || !errors.Is(context.Cause(longer), errStop) {
			t.Errorf("done %v after the run, because of %v", d, context.Cause(longer))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, release := outlive(ctx, time.Hour)
		cancel()
		synctest.Wait()
		release() // else a goroutine is left over
	})
}

// A small journal gets longer than a large one.
func TestTimeToWrite(t *testing.T) {
	for _, tt := range []struct {
		bytes int64
		want  time.Duration
	}{
		{0, 400 * time.Millisecond},
		{smallJournalBytes, 400 * time.Millisecond},
		{smallJournalBytes + 1, 250 * time.Millisecond},
	} {
		if got := timeToWrite(tt.bytes); got != tt.want {
			t.Errorf("timeToWrite(%d) = %v, want %v", tt.bytes, got, tt.want)
		}
	}
}

// When the writing of the export is stopped, the journal stays and has all.
func TestJournalAfterStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json")
	r, err := newTestWriter(path, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	r.timeToWrite = func(int64) time.Duration { return 0 }
	run := &export.Run{Meta: &export.RunMeta{Schema: export.Schema}}
	if err := r.Open(ctx, run); err != nil {
		t.Fatal(err)
	}
	const requests = 3
	err = r.BeginExperiment(export.ModeConcurrency, "1")
	for range requests {
		err = errors.Join(err, r.WriteRequest(&export.Request{HasMeta: true, Status: export.StatusOK}))
	}
	if err := errors.Join(err, r.EndExperiment(&export.Experiment{})); err != nil {
		t.Fatal(err)
	}
	cancel(errStop)
	err = r.Close(run)
	var kept *KeptError
	if !errors.Is(err, errStop) || !errors.As(err, &kept) || kept.Requests != requests || kept.Path != r.path {
		t.Errorf("Close: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an export that is not whole: %v", err)
	}
	got, err := openEdited(t.Context(), source{path: r.path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	n := 0
	for got.Next() {
		n++
	}
	if n != requests || got.Err() != nil {
		t.Errorf("the journal has %d requests, want %d: %v", n, requests, got.Err())
	}
}
