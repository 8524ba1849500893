package rxclock

import (
	"context"
	"time"
)

// sample measures the offset of the wall clock. It reads the wall clock between two
// readings of c, a few times, and uses the two closest readings. The error is at most half
// their distance, some ten nanoseconds, unless the process is interrupted each time.
func (c *Clock) sample() Sample {
	const tries = 5
	var best Sample
	closest := uint64(1<<64 - 1)
	for range tries {
		before := c.NowNS()
		wall := int64(c.wall(uint64(time.Now().UnixNano())))
		after := c.NowNS()
		if d := after - before; d < closest {
			closest = d
			best = Sample{AtNS: before + d/2, OffsetNS: wall - int64(before+d/2)}
		}
	}
	return best
}

// Watch adds a sample to d at once, at every interval, and at the end, when ctx is done.
func (c *Clock) Watch(ctx context.Context, interval time.Duration, d *Drift) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		d.Add(c.sample())
		select {
		case <-ctx.Done():
			d.Add(c.sample())
			return
		case <-tick.C:
		}
	}
}
