//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// sampleOf reads the figures of pa-record and of the simulator from /proc. ok is false if one
// of them is not there.
func sampleOf(at time.Time, pid, server int) (x sample, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return x, false
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return x, false
	}
	served, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server))
	if err != nil {
		return x, false
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return x, false
	}
	kb, count := statusNumber(text, "VmRSS:"), statusNumber(text, "Threads:")
	return sample{at, figures{
		residentMB: kb / 1024, descriptors: float64(len(open)), threads: count, simulatorMB: statusNumber(served, "VmRSS:") / 1024,
		ownCPU: (processCPU(pid) + processCPU(server) + processCPU(os.Getpid())).Seconds(), machineCPU: busyCPU(stat).Seconds(),
	}}, kb > 0
}

// statusNumber returns the number after a key in the text of /proc/PID/status; 0 if it is
// missing.
func statusNumber(status []byte, key string) float64 {
	_, rest, _ := bytes.Cut(status, []byte("\n"+key))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("kB")))), 64)
	if err != nil {
		return 0
	}
	return n
}

// busyCPU returns the time for which the cores were busy since the machine started, from
// the text of /proc/stat: all states but idle, iowait and guest, whose time user contains.
// Unreadable text gives 0.
func busyCPU(stat []byte) time.Duration {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	const user, idle, iowait, steal = 1, 4, 5, 8
	if len(fields) <= steal || string(fields[0]) != "cpu" {
		return 0
	}
	var ticks int64
	for i := user; i <= steal; i++ {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0
		}
		if i != idle && i != iowait {
			ticks += n
		}
	}
	return time.Duration(ticks) * (time.Second / ticksPerSecond)
}

// schedulerTrace returns the variable of the environment that makes the runtime of a Go
// program print all goroutines in each period.
func schedulerTrace(period time.Duration) string {
	return fmt.Sprintf("GODEBUG=schedtrace=%d,scheddetail=1", period.Milliseconds())
}

// goroutinesIn returns the numbers of living goroutines in the scheduler's trace of a program
// that began at a time.
func goroutinesIn(trace []byte, began time.Time) []sample {
	const dead = "status=6" // the runtime's _Gdead: ended, kept for reuse
	var all []sample
	for line := range bytes.Lines(trace) {
		if rest, ok := bytes.CutPrefix(line, []byte("SCHED ")); ok {
			ms, _, _ := bytes.Cut(rest, []byte("ms:"))
			n, err := strconv.ParseInt(string(ms), 10, 64)
			if err != nil {
				continue
			}
			all = append(all, sample{began.Add(time.Duration(n) * time.Millisecond), figures{goroutines: 0}})
			continue
		}
		if len(all) > 0 && bytes.HasPrefix(line, []byte("  G")) && !bytes.Contains(line, []byte(dead)) {
			all[len(all)-1].figures[goroutines]++
		}
	}
	return all
}

// withoutTrace returns the lines of text that are no part of a scheduler's trace.
func withoutTrace(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("SCHED ")) && !bytes.HasPrefix(line, []byte("  ")) {
			out = append(out, line...)
		}
	}
	return out
}

// processCPU returns the CPU time of a process so far, from /proc; 0 if it is not there.
func processCPU(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return cpuInStat(text)
}

// ticksPerSecond is the unit of times in /proc on all Linux systems that Go knows.
const ticksPerSecond = 100

// cpuInStat returns the sum of utime and stime in the text of /proc/PID/stat. Its second
// field, the program's name in parentheses, may hold anything.
func cpuInStat(text []byte) time.Duration {
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3 // fields are counted from 1, and two are cut off
	if len(fields) <= stime {
		return 0
	}
	var sum time.Duration
	for _, field := range []int{utime, stime} {
		n, err := strconv.ParseInt(string(fields[field]), 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * time.Second / ticksPerSecond
	}
	return sum
}
