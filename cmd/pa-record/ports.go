package main

import (
	"fmt"
	"os"
)

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
