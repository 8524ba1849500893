package export

// RequestCounts counts the requests of an experiment.
type RequestCounts struct {
	// Measured, Failed, Warmup, Late and Cancelled count requests by [Request.Excluded].
	Measured  int `json:"measured"`
	Failed    int `json:"failed,omitempty"`
	Warmup    int `json:"warmup,omitempty"`
	Late      int `json:"late,omitempty"`
	Cancelled int `json:"cancelled,omitempty"`
	// Resent counts the requests that were sent again: see [Request.Resent].
	Resent int `json:"resent,omitempty"`
	// OutputsDropped counts the requests whose outputs were not stored because the
	// disk was too slow: see [Request.OutputsDropped].
	OutputsDropped int `json:"outputs_dropped,omitempty"`
}

// Add counts a request.
func (c *RequestCounts) Add(r *Request) {
	switch r.Excluded() {
	case NotExcluded:
		c.Measured++
	case ExcludedFailed:
		c.Failed++
	case ExcludedWarmup:
		c.Warmup++
	case ExcludedLate:
		c.Late++
	case ExcludedCancelled:
		c.Cancelled++
	}
	if r.Resent {
		c.Resent++
	}
	if r.OutputsDropped {
		c.OutputsDropped++
	}
}

// Plus adds the counts of o.
func (c *RequestCounts) Plus(o *RequestCounts) {
	c.Measured += o.Measured
	c.Failed += o.Failed
	c.Warmup += o.Warmup
	c.Late += o.Late
	c.Cancelled += o.Cancelled
	c.Resent += o.Resent
	c.OutputsDropped += o.OutputsDropped
}

// A CountDifference is a number of requests that a file states, and that its requests contradict.
type CountDifference struct {
	What   string // "measured requests", "requests with dropped outputs"
	Stated int
	Held   int // the number of these requests in the file
}

// Differences compares the counts with stated ones, in the order of their fields.
func (c *RequestCounts) Differences(stated *RequestCounts) []CountDifference {
	var all []CountDifference
	for _, d := range [...]CountDifference{
		{"measured requests", stated.Measured, c.Measured},
		{"failed requests", stated.Failed, c.Failed},
		{"warmup requests", stated.Warmup, c.Warmup},
		{"late requests", stated.Late, c.Late},
		{"cancelled requests", stated.Cancelled, c.Cancelled},
		{"requests with dropped outputs", stated.OutputsDropped, c.OutputsDropped},
		{"requests that were sent again", stated.Resent, c.Resent},
	} {
		if d.Stated != d.Held {
			all = append(all, d)
		}
	}
	return all
}
