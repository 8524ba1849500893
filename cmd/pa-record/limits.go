package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/pa-tools/pa/internal/cmdline"
	"github.com/pa-tools/pa/internal/plural"
	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/backend/openai"
	"github.com/pa-tools/pa/pkg/recorder/forecast"
	"github.com/pa-tools/pa/pkg/recorder/load"
)

// spareFiles is the number of files that a run has open beside its connections: standard
// streams, journal, exports, epoll, and a connection for the server's metadata.
const spareFiles = 32

// warnOfLimits warns if the load needs more than this process or this machine has.
func (s *settings) warnOfLimits() {
	if limit, ok := fileLimit(); ok {
		s.warnOfFiles(limit)
	}
	if ports, ok := localPorts(); ok && !s.simulated() {
		s.warnOfPorts(ports)
	}
	s.warnOfCPU(runtime.GOMAXPROCS(0))
}

// slotBytes is about the memory of a request in flight, from docs/scale.md.
const slotBytes = 65e3

// checkMemory refuses a load whose slots need more memory than the machine has free. An open loop is no such load, as it
// opens slots only as its requests need them. free is that number of bytes.
func (s *settings) checkMemory(free uint64) error {
	slots := 0
	for _, level := range s.levels {
		if _, open := level.(load.Open); !open {
			slots = max(slots, s.world.Share().Slots(level.Slots()))
		}
	}
	slots = min(slots, math.MaxInt/max(s.world.LocalSize, 1)) * max(s.world.LocalSize, 1)
	if need := slotBytes * float64(slots); need > float64(free) {
		return &cmdline.UsageError{Msg: fmt.Sprintf("%s in flight need about %s of memory and as many connections, but %s are free; use a lower concurrency, or ranks on more machines (--world-size)",
			plural.GroupedOf(slots, "request"), forecast.Bytes(need), forecast.Bytes(float64(free))), NoHelp: true}
	}
	return nil
}

// warnOfFiles warns if the load needs more connections than the process may have files
// open. limit is that number of files.
func (s *settings) warnOfFiles(limit uint64) {
	slots := s.world.Share().Slots(s.slots())
	connections := slots * s.mostURLs()
	if s.GRPCConnections > 0 {
		connections = min(s.GRPCConnections, slots) * s.mostURLs()
	}
	if s.simulated() {
		connections *= 2 // its side is here too
	}
	if need := uint64(connections + spareFiles); need > limit {
		s.warn("%d connections need %d open files in all, but the limit is %d; raise it first: ulimit -n %d", connections, need, limit, need)
	}
}

// warnOfPorts warns if the load needs more connections to a server than there are local
// ports. ports is the number of ports for each pair of source and server address.
func (s *settings) warnOfPorts(ports int) {
	connections := s.world.Share().Slots(s.slots()) * max(s.world.LocalSize, 1)
	if s.GRPCConnections > 0 {
		connections = min(s.GRPCConnections, connections)
	}
	have := ports * max(len(s.sourceIPs), 1)
	if connections > have {
		s.warn("%d connections to one server address need as many local ports, but there are %d; widen net.ipv4.ip_local_port_range, or give several --source-ip or -u", connections, have)
		return
	}
	if s.Reuse != backend.Fresh {
		return
	}
	rate := s.localRate()
	if resting := rate * restingPort.Seconds() / float64(s.mostURLs()); resting > float64(have) {
		s.warn("%s requests/s with --connection-reuse fresh use up the local ports: a closed connection blocks its port for %v, and there are %s; keep connections, give several --source-ip or -u, or widen net.ipv4.ip_local_port_range",
			plural.Grouped(int(rate)), restingPort, plural.Grouped(have))
	}
}

// restingPort is how long Linux keeps the port of a closed connection (TIME-WAIT).
const restingPort = time.Minute

// CPU time of a request, a round figure, and of a token of its answer, as docs/benchmarks.md has it.
const (
	requestCPU      = 200 * time.Microsecond
	loopTokenCPU    = 11400 * time.Nanosecond
	netHTTPTokenCPU = 16300 * time.Nanosecond
	grpcTokenCPU    = 19400 * time.Nanosecond
)

// withSimulator is the CPU time of a client and its simulated server, in times of the client alone: docs/scale.md at
// 1,024 streams.
const withSimulator = 2.6

// assumedPace is the number of tokens per second of a stream where the load does not say
// it.
const assumedPace = 50

// tokenCPU returns the CPU time that a streamed token costs.
func (s *settings) tokenCPU() time.Duration {
	switch s.Transport {
	case openai.Loop.String():
		return loopTokenCPU
	case transportGRPC:
		return grpcTokenCPU
	}
	return netHTTPTokenCPU
}

// warnOfCPU warns if the load needs more CPU time than cores of this machine have. The
// estimate is for the ranks of this machine together. It knows the number of tokens of a
// rate with --output-tokens, and assumes a pace for a number of streams.
func (s *settings) warnOfCPU(cores int) {
	const advice = "the times of tokens are inexact while no core is free: record with ranks on more machines (--world-size, --barrier), or with less load"
	warn := func(load string, need time.Duration) {
		if s.simulated() {
			need = time.Duration(float64(need) * withSimulator)
		}
		if need > time.Duration(cores)*time.Second {
			s.warn("%s need about %.1f cores, but this machine has %d; %s", load, need.Seconds(), cores, advice)
		}
	}
	if rate := s.localRate(); rate > 0 {
		text := plural.GroupedOf(int(rate), "request") + " per second"
		tokens := s.meanOutputTokens()
		if tokens > 0 {
			text += " for " + plural.GroupedOf(int(tokens+0.5), "token") + " each"
		}
		warn(text, time.Duration(rate*(requestCPU.Seconds()+tokens*s.tokenCPU().Seconds())*float64(time.Second)))
		return
	}
	if !s.Streaming {
		return // nothing is known of how long a request takes
	}
	streams := s.world.Share().Slots(s.slots()) * max(s.world.LocalSize, 1)
	warn(plural.GroupedOf(streams, "stream")+" at an assumed "+plural.Of(assumedPace, "token")+" per second", time.Duration(streams)*assumedPace*s.tokenCPU())
}

// localRate returns the highest request rate of the load that the ranks of this machine
// send together; 0 for a load without a rate.
func (s *settings) localRate() float64 {
	rate := 0.0
	for _, level := range s.levels {
		rate = max(rate, level.Traits().PerSecond)
	}
	return rate * float64(max(s.world.LocalSize, 1)) / float64(max(s.world.Size, 1))
}

// meanOutputTokens returns the mean length of the streamed answers that the load asks for;
// 0 if it is unknown, or answers come at once.
func (s *settings) meanOutputTokens() float64 {
	if s.outputLengths == nil || !s.Streaming {
		return 0
	}
	return s.outputLengths.MeanLength()
}

// localPorts returns the number of local ports that Linux gives to connections of one
// source address to one server address; ok is false if it is unknown.
func localPorts() (n int, ok bool) {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0, false
	}
	var low, high int
	if _, err := fmt.Sscan(string(text), &low, &high); err != nil || high < low {
		return 0, false
	}
	return high - low + 1, true
}
