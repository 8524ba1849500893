package load

import "time"

// Every returns the schedule of the arrivals first, first+step, first+2·step, … of s, at
// their instants. A step below 2 returns s.
func Every(s Schedule, first, step int) Schedule {
	if step < 2 {
		return s
	}
	return &everySchedule{all: s, skip: first, step: step}
}

// An everySchedule passes over the arrivals of other shares.
type everySchedule struct {
	all  Schedule
	skip int // arrivals before the next one that it yields
	step int
}

// Next implements Schedule.
func (s *everySchedule) Next() (time.Duration, bool) {
	for ; s.skip > 0; s.skip-- {
		if _, ok := s.all.Next(); !ok {
			return 0, false
		}
	}
	s.skip = s.step - 1
	return s.all.Next()
}

// ArrivalsBefore returns how many requests of the schedule are due before a time after
// its start. It uses the schedule up.
func ArrivalsBefore(s Schedule, end time.Duration) int {
	n := 0
	for due, ok := s.Next(); ok && due < end; due, ok = s.Next() {
		n++
	}
	return n
}
