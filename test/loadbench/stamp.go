//go:build linux

package main

import "bytes"

const stampDigits = 19

// stampIn returns the time that the server wrote into the text of an event: after a quote, a
// space and the 19 digits of Unix nanoseconds. ok is false if the event has none.
func stampIn(event []byte) (ns uint64, ok bool) {
	for {
		i := bytes.Index(event, []byte(`" `))
		if i < 0 || len(event) < i+2+stampDigits {
			return 0, false
		}
		event = event[i+2:]
		ns = 0
		for k := range stampDigits {
			d := event[k] - '0'
			if d > 9 {
				break
			}
			ns = ns*10 + uint64(d)
			if k == stampDigits-1 {
				return ns, true
			}
		}
	}
}

// errorUS returns |a − b| in µs.
func errorUS(a, b uint64) float64 {
	d := int64(a - b)
	if d < 0 {
		d = -d
	}
	return float64(d) / 1e3
}
