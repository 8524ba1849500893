package load

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestWait checks that Wait does not return early, for waits that begin with each of its
// methods.
func TestWait(t *testing.T) {
	for _, d := range []time.Duration{-time.Hour, 0, spin / 2, spin * 2, coarse / 2, coarse + time.Millisecond} {
		until := time.Now().Add(d)
		called := 0
		if !Wait(until, nil, func() {
			called++
			if ahead := time.Until(until); ahead > spin {
				t.Errorf("a wait of %v: near %v before the end", d, ahead)
			}
		}) {
			t.Errorf("a wait of %v was cut short", d)
		}
		if early := time.Until(until); early > 0 {
			t.Errorf("a wait of %v returned %v early", d, early)
		}
		if called != 1 {
			t.Errorf("a wait of %v: near was called %d times", d, called)
		}
	}
}

// TestWaitIsCutShort checks that Wait returns false when done is closed.
func TestWaitIsCutShort(t *testing.T) {
	done := make(chan struct{})
	over := make(chan bool)
	go func() { over <- Wait(time.Now().Add(time.Hour), done, nil) }()
	close(done)
	if <-over {
		t.Error("Wait returned true, although done was closed")
	}
	for _, d := range []time.Duration{-1, time.Millisecond} {
		if Wait(time.Now().Add(d), done, nil) {
			t.Errorf("a wait of %v returned true after done was closed", d)
		}
	}
}

func TestWaitTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		begin := time.Now()
		if !WaitTimer(begin.Add(time.Minute), done) || time.Since(begin) != time.Minute {
			t.Errorf("waited for %v, want a minute", time.Since(begin))
		}
		time.AfterFunc(time.Second, func() { close(done) })
		if WaitTimer(time.Now().Add(time.Hour), done) || time.Since(begin) != time.Minute+time.Second {
			t.Errorf("cut short after %v", time.Since(begin))
		}
		if WaitTimer(begin, done) || !WaitTimer(begin, nil) {
			t.Error("WaitTimer for a past instant: want false with a closed done, else true")
		}
	})
}

// BenchmarkWait measures how late Wait returns. The time per operation is the gap between
// two requests.
func BenchmarkWait(b *testing.B) {
	b.ReportAllocs()
	const gap = 200 * time.Microsecond
	due := time.Now()
	var late time.Duration
	for b.Loop() {
		due = due.Add(gap)
		Wait(due, nil, nil)
		late += time.Since(due)
	}
	b.ReportMetric(float64(late)/float64(b.N), "late-ns/op")
}
