package nettest

import (
	"container/heap"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// addrs are the addresses of the two networks.
var addrs = [2]string{"10.77.0.1", "10.77.0.2"}

// deviceName is the name of the TUN interface in each network.
const deviceName = "link0"

// maxPacketBytes is more than the MTU of a TUN interface.
const maxPacketBytes = 4096

// A Link joins two networks, numbered 0 and 1. Each is a network namespace with its own
// loopback and a TUN interface. Use New.
type Link struct {
	sides   [2]side
	delay   func(to int, packet []byte) time.Duration
	passing sync.WaitGroup
}

// Lost is the delay of a packet that does not arrive.
const Lost time.Duration = -1

// A side is one of the two networks.
type side struct {
	namespace *os.File
	tun       *os.File // what the network sends is read from it
}

// NewLink makes two networks and joins them until the test ends. delay returns how long an
// IPv4 packet is on the way to network to, or Lost; the two directions call it at the same
// time. A packet that is due before an earlier one overtakes it; packets that are due at the
// same time keep their order. The test must be within Within. Where the machine has no TUN
// interfaces, the test ends as testenv.Lacks says.
func NewLink(t testing.TB, delay func(to int, packet []byte) time.Duration) *Link {
	t.Helper()
	l := &Link{delay: delay}
	for i := range l.sides {
		s, err := newSide(addrs[i])
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			testenv.Lacks(t, "TUN interfaces: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		l.sides[i] = s
		t.Cleanup(func() { _ = errors.Join(s.tun.Close(), s.namespace.Close()) })
	}
	for from := range l.sides {
		l.passing.Go(func() { l.pass(from) })
	}
	t.Cleanup(func() {
		for _, s := range l.sides {
			_ = s.tun.Close() // ends pass
		}
		l.passing.Wait()
	})
	return l
}

// Addr returns the IPv4 address of a network.
func (l *Link) Addr(network int) string { return addrs[network] }

// In runs f on a thread in a network and returns when f has returned. The thread ends
// then, so a process that f starts must not ask for a signal at the death of its parent.
func (l *Link) In(network int, f func()) {
	var err error
	onThread(func() {
		if err = unix.Setns(int(l.sides[network].namespace.Fd()), unix.CLONE_NEWNET); err == nil {
			f()
		}
	})
	if err != nil {
		panic(fmt.Sprintf("nettest: enter network %d: %v", network, err)) // NewLink entered it
	}
}

// onThread runs f on a thread of its own, which ends with f.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the runtime then ends the thread
		f()
	}()
	<-done
}

// newSide makes a network with a TUN interface that has an address.
func newSide(addr string) (s side, err error) {
	onThread(func() {
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("make a network namespace: %w", err)
			return
		}
		if s.tun, err = openTUN(addr); err != nil {
			return
		}
		if s.namespace, err = os.Open("/proc/thread-self/ns/net"); err != nil {
			_ = s.tun.Close()
		}
	})
	return s, err
}

// openTUN brings up the loopback and a TUN interface in the network of this thread.
func openTUN(addr string) (tun *os.File, err error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	defer unix.Close(s)
	// do sets one property of an interface.
	do := func(what, name string, fd int, request uint, set func(*unix.Ifreq) error) {
		if err != nil {
			return
		}
		var r *unix.Ifreq
		if r, err = unix.NewIfreq(name); err == nil {
			err = set(r)
		}
		if err == nil {
			err = unix.IoctlIfreq(fd, request, r)
		}
		if err != nil {
			err = fmt.Errorf("%s of %s: %w", what, name, err)
		}
	}
	flags := func(f uint16) func(*unix.Ifreq) error {
		return func(r *unix.Ifreq) error { r.SetUint16(f); return nil }
	}
	ip := func(b ...byte) func(*unix.Ifreq) error {
		return func(r *unix.Ifreq) error { return r.SetInet4Addr(b) }
	}
	var a [4]byte
	if _, err := fmt.Sscanf(addr, "%d.%d.%d.%d", &a[0], &a[1], &a[2], &a[3]); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	do("flags", "lo", s, unix.SIOCSIFFLAGS, flags(unix.IFF_UP|unix.IFF_RUNNING))
	do("creation", deviceName, fd, unix.TUNSETIFF, flags(unix.IFF_TUN|unix.IFF_NO_PI))
	do("address", deviceName, s, unix.SIOCSIFADDR, ip(a[:]...))
	do("netmask", deviceName, s, unix.SIOCSIFNETMASK, ip(255, 255, 255, 0))
	do("flags", deviceName, s, unix.SIOCSIFFLAGS, flags(unix.IFF_UP|unix.IFF_RUNNING))
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	// The runtime polls the file only if it becomes a TUN interface before that.
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

// A flight is a packet on its way.
type flight struct {
	due    time.Time
	number uint64 // order in which the packets of a direction left
	packet []byte
}

// flights is a heap of the packets of a direction, the next to arrive first.
type flights []flight

func (f flights) Len() int      { return len(f) }
func (f flights) Swap(i, j int) { f[i], f[j] = f[j], f[i] }
func (f flights) Less(i, j int) bool {
	if !f[i].due.Equal(f[j].due) {
		return f[i].due.Before(f[j].due)
	}
	return f[i].number < f[j].number
}
func (f *flights) Push(x any) { *f = append(*f, x.(flight)) }
func (f *flights) Pop() any {
	last := (*f)[len(*f)-1]
	(*f)[len(*f)-1].packet = nil
	*f = (*f)[:len(*f)-1]
	return last
}

// pass forwards the packets of a network until its interface is closed.
func (l *Link) pass(from int) {
	to := 1 - from
	leaving := make(chan flight)
	l.passing.Go(func() { l.deliver(to, leaving) })
	defer close(leaving)
	b := make([]byte, maxPacketBytes)
	for number := uint64(0); ; number++ {
		n, err := l.sides[from].tun.Read(b)
		if err != nil {
			return
		}
		left := time.Now()
		if n < 20 || b[0]>>4 != 4 {
			continue // IPv6 looks for neighbors
		}
		packet := append([]byte(nil), b[:n]...)
		if delay := l.delay(to, packet); delay >= 0 {
			leaving <- flight{left.Add(delay), number, packet}
		}
	}
}

// deliver hands packets to a network when they are due, until leaving is closed.
func (l *Link) deliver(to int, leaving <-chan flight) {
	var waiting flights
	due := time.NewTimer(time.Hour)
	defer due.Stop()
	for {
		for len(waiting) > 0 && !time.Now().Before(waiting[0].due) {
			_, _ = l.sides[to].tun.Write(heap.Pop(&waiting).(flight).packet) // it may be closed
		}
		if len(waiting) > 0 {
			due.Reset(time.Until(waiting[0].due))
		}
		select {
		case f, ok := <-leaving:
			if !ok {
				return
			}
			heap.Push(&waiting, f)
		case <-due.C:
		}
	}
}
