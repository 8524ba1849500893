//go:build realservers

package realservers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	startTimeout = 10 * time.Second // of a server that is ready as soon as it runs
	stopTimeout  = 20 * time.Second // vLLM takes 3 s, Triton up to 5 s
)

// A process is not a child of this program, so it cannot be waited for in the
// usual way. A pidfd can be, and it never means another process that got the
// same id later.
type process struct{ fd int }

func openProcess(pid int) (process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	return process{fd}, os.NewSyscallError("pidfd_open", err)
}

// stop ends the process, gently first, and waits until it is gone.
func (p process) stop() error {
	defer unix.Close(p.fd)
	if err := p.signal(unix.SIGTERM); err != nil {
		return err
	}
	if gone, err := p.wait(stopTimeout); gone || err != nil {
		return err
	}
	if err := p.signal(unix.SIGKILL); err != nil {
		return err
	}
	_, err := p.wait(stopTimeout)
	return errors.Join(fmt.Errorf("still there %v after SIGTERM", stopTimeout), err)
}

// signal is no error when the process is gone.
func (p process) signal(sig unix.Signal) error {
	err := unix.PidfdSendSignal(p.fd, sig, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return os.NewSyscallError("pidfd_send_signal", err)
}

// wait reports whether the process ended within d.
func (p process) wait(d time.Duration) (gone bool, err error) {
	for end := time.Now().Add(d); ; {
		left := max(0, time.Until(end))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return n > 0, os.NewSyscallError("poll", err)
		}
	}
}

// waitAccept waits until something accepts connections on addr.
func waitAccept(tb testing.TB, addr string) {
	tb.Helper()
	for end := time.Now().Add(startTimeout); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("nothing accepts connections: %v", err)
		}
	}
}
