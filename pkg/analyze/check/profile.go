package check

import (
	"fmt"
	"time"

	"github.com/pa-tools/pa/internal/stat"
)

// A Profile holds the thresholds of the items.
type Profile struct {
	Name string
	// MinDuration is the least length of a level, MinSamples the least number of successful
	// requests.
	MinDuration time.Duration
	MinSamples  int
	// MaxFailed is the greatest share of failed requests, from 0 to 1.
	MaxFailed float64
	// MaxLate is the greatest 99th percentile of the time by which requests left later than
	// their schedule, as a share of the median TTFT (E2EL of answers that were not streamed).
	MaxLate float64
	// MaxMeanLate is the greatest mean of this time, as a share of the mean latency.
	MaxMeanLate float64
	// MaxClockError is the greatest 99th percentile of the error of calibrated times.
	MaxClockError time.Duration
	// Poisson demands an open loop whose arrivals pass the test of Poisson arrivals.
	Poisson bool
}

// Default returns the profile for any benchmark. 662 samples are the fewest that certify p99.
func Default() Profile {
	return Profile{
		Name: "default", MinDuration: time.Minute, MinSamples: stat.CertifiedFloor(0.99),
		MaxFailed: 0.01, MaxLate: 0.1, MaxMeanLate: 0.05, MaxClockError: time.Millisecond,
	}
}

// mlPerfServer returns the profile of MLPerf Inference's server scenario: Poisson arrivals for at
// least 600 s (min_duration in LoadGen's mlperf.conf), enough samples for a certified p99, and no
// failures.
func mlPerfServer() Profile {
	p := Default()
	p.Name, p.MinDuration, p.MaxFailed, p.Poisson = "mlperf-server", 10*time.Minute, 0, true
	return p
}

// FindProfile returns the profile with the given name. An unknown name is an error.
func FindProfile(name string) (Profile, error) {
	for _, p := range []Profile{Default(), mlPerfServer()} {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("%q: expected %s or %s", name, Default().Name, mlPerfServer().Name)
}
