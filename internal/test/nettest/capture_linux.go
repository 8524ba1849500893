package nettest

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pa-tools/pa/internal/test/testenv"
)

// The ring of a capture, which the kernel fills: frames of frameBytes in blocks.
const (
	frameBytes  = 2048
	blockBytes  = 1 << 20
	ringBlocks  = 16
	ringFrames  = ringBlocks * blockBytes / frameBytes
	pollMS      = 20
	networkIPv4 = 0x0008 // ETH_P_IP in network byte order
)

// A Packet is an IPv4 packet with the time at which the kernel received it, in Unix
// nanoseconds.
type Packet struct {
	NS   uint64
	Data []byte
}

// A Capture records the packets that a network receives over the link.
type Capture struct {
	fd      int
	ring    []byte
	stopped atomic.Bool
	reading sync.WaitGroup
	packets []Packet
	cut     int // packets longer than a frame
}

// Capture starts to record the packets that a network receives. The test ends as
// testenv.Lacks says if the system allows no packet sockets.
func (l *Link) Capture(t testing.TB, network int) *Capture {
	t.Helper()
	c := &Capture{fd: -1}
	var err error
	l.In(network, func() { err = c.open() })
	if err != nil {
		c.close()
		testenv.Lacks(t, "packet sockets: %v", err)
	}
	c.reading.Go(c.read)
	t.Cleanup(func() { c.end() })
	return c
}

func (c *Capture) open() (err error) {
	if c.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err = unix.SetsockoptInt(c.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V2); err != nil {
		return err
	}
	ring := unix.TpacketReq{Block_size: blockBytes, Block_nr: ringBlocks, Frame_size: frameBytes, Frame_nr: ringFrames}
	if err = unix.SetsockoptTpacketReq(c.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &ring); err != nil {
		return err
	}
	if c.ring, err = unix.Mmap(c.fd, 0, ringBlocks*blockBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return err
	}
	link, err := net.InterfaceByName(deviceName)
	if err != nil {
		return err
	}
	return unix.Bind(c.fd, &unix.SockaddrLinklayer{Protocol: networkIPv4, Ifindex: link.Index})
}

// read copies the packets out of the ring until the capture is stopped and the ring empty.
func (c *Capture) read() {
	for i := 0; ; i = (i + 1) % ringFrames {
		frame := c.ring[i*frameBytes : (i+1)*frameBytes]
		h := (*unix.Tpacket2Hdr)(unsafe.Pointer(unsafe.SliceData(frame)))
		for atomic.LoadUint32(&h.Status)&unix.TP_STATUS_USER == 0 {
			if c.stopped.Load() && atomic.LoadUint32(&h.Status)&unix.TP_STATUS_USER == 0 {
				return
			}
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, pollMS)
		}
		if h.Snaplen < h.Len {
			c.cut++
		}
		address := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&frame[(unsafe.Sizeof(*h)+15)&^15]))
		if address.Pkttype != unix.PACKET_OUTGOING {
			data := append([]byte(nil), frame[h.Net:uint32(h.Net)+h.Snaplen]...)
			c.packets = append(c.packets, Packet{uint64(h.Sec)*uint64(time.Second) + uint64(h.Nsec), data})
		}
		atomic.StoreUint32(&h.Status, unix.TP_STATUS_KERNEL)
	}
}

// Stop ends the capture and returns the packets in the order of their arrival. The error
// says that packets are missing or cut.
func (c *Capture) Stop() ([]Packet, error) {
	statistics, err := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	c.end()
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask how many packets the capture dropped: %w", err)
	case statistics.Drops > 0 || c.cut > 0:
		return nil, fmt.Errorf("the capture dropped %d of %d packets and cut %d", statistics.Drops, statistics.Packets, c.cut)
	}
	return c.packets, nil
}

// end stops the reading and closes the socket.
func (c *Capture) end() {
	if !c.stopped.Swap(true) {
		c.reading.Wait()
		c.close()
	}
}

func (c *Capture) close() {
	if c.ring != nil {
		_ = unix.Munmap(c.ring)
	}
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
	}
}
