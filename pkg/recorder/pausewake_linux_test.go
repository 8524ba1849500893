package recorder

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// watchEnv makes the test's program watch for pauses and print how often it looked and how
// often its threads went to sleep.
const watchEnv = "PA_TEST_PAUSE_WATCH"

// A process that only watches for pauses sleeps once for each look. A timer of Go makes it
// several times.
func TestPauseWatchWakesOneThread(t *testing.T) {
	if os.Getenv(watchEnv) != "" {
		printWatch(t)
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPauseWatchWakesOneThread$", "-test.v")
	cmd.Env = append(os.Environ(), watchEnv+"=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var looks, slept int
	for line := range strings.Lines(string(out)) {
		if n, _ := fmt.Sscanf(line, "looks %d slept %d", &looks, &slept); n == 2 {
			break
		}
	}
	if looks < watchLooks || slept > 2*looks {
		t.Errorf("%d looks, and threads slept %d times; want at most twice a look:\n%s", looks, slept, out)
	}
}

const watchLooks = 40

func printWatch(t *testing.T) {
	slept := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return u.Nvcsw
	}
	var looks, first, last atomic.Int64
	enough := make(chan struct{})
	w := startPauseWatch(func() uint64 {
		switch looks.Add(1) {
		case 3: // the runtime has settled
			first.Store(slept())
		case watchLooks + 3:
			last.Store(slept())
			close(enough)
		}
		return 1
	})
	<-enough
	w.Stop()
	fmt.Printf("\nlooks %d slept %d\n", watchLooks, last.Load()-first.Load())
}
