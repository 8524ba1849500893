package shards

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ClockContradictionWarning begins the warning of a merged run about ranks of one machine whose
// clocks would differ.
const ClockContradictionWarning = "the clocks contradict each other: "

// contradictions returns a warning for each machine whose ranks have different clocks according
// to their offsets and bounds, although a machine has one clock. It widens the bounds of these
// ranks so that they cover all their offsets.
func contradictions(all []*rankShard) (warnings []string) {
	var order []string
	machines := map[string][]*rankShard{}
	for _, s := range all {
		// A machine may be called localhost because nobody gave it a name.
		if h := metaOf(s).Host; h != nil && h.Name != "" && !strings.HasPrefix(h.Name, "localhost") && s.clock.known {
			if machines[h.Name] == nil {
				order = append(order, h.Name)
			}
			machines[h.Name] = append(machines[h.Name], s)
		}
	}
	for _, name := range order {
		ranks := machines[name]
		early, late := ranks[0], ranks[0] // whose clock is surely before, and surely after
		low, high := ranks[0].clock.low(), ranks[0].clock.high()
		for _, s := range ranks {
			if s.clock.high() < early.clock.high() {
				early = s
			}
			if s.clock.low() > late.clock.low() {
				late = s
			}
			low, high = min(low, s.clock.low()), max(high, s.clock.high())
		}
		if late.clock.low() <= early.clock.high() {
			continue
		}
		text := fmt.Sprintf("ranks %d and %d ran on one machine (%s), but the offsets of their clocks are %s and %s",
			early.meta.Rank, late.meta.Rank, strconv.Quote(name), early.clock, late.clock)
		widest := int64(0)
		for _, s := range ranks {
			s.clock.boundNS = max(high-s.clock.shiftNS, s.clock.shiftNS-low)
			widest = max(widest, s.clock.boundNS)
		}
		warnings = append(warnings, fmt.Sprintf("%s%s; the bound of these clocks is therefore %s: check that each file is of the rank and machine that it names",
			ClockContradictionWarning, text, time.Duration(widest)))
	}
	return warnings
}

// low and high return the ends of the interval in which the offset of the clock lies.
func (c clock) low() int64  { return c.shiftNS - c.boundNS }
func (c clock) high() int64 { return c.shiftNS + c.boundNS }

// String returns the offset with its bound: "1s ± 14.05µs".
func (c clock) String() string {
	return fmt.Sprintf("%s ± %s", time.Duration(c.shiftNS), time.Duration(c.boundNS))
}
