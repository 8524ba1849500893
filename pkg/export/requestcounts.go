package export

// RequestCounts counts the requests of an experiment as an [ExperimentMeta] does.
type RequestCounts struct {
	Measured, Failed, Warmup, Late, Cancelled int
	// Resent and OutputsDropped count requests of all kinds.
	Resent, OutputsDropped int
}

// Add counts a request.
func (c *RequestCounts) Add(r *Request) {
	switch r.Excluded() {
	case "":
		c.Measured++
	case "failed":
		c.Failed++
	case "warmup":
		c.Warmup++
	case "late":
		c.Late++
	case "cancelled":
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

// Differences compares the counts with those that m states, in the order of m.
func (c *RequestCounts) Differences(m *ExperimentMeta) []CountDifference {
	var all []CountDifference
	for _, d := range [...]CountDifference{
		{"measured requests", m.Measured, c.Measured},
		{"failed requests", m.Failed, c.Failed},
		{"warmup requests", m.Warmup, c.Warmup},
		{"late requests", m.Late, c.Late},
		{"cancelled requests", m.Cancelled, c.Cancelled},
		{"requests with dropped outputs", m.OutputsDropped, c.OutputsDropped},
		{"requests that were sent again", m.Resent, c.Resent},
	} {
		if d.Stated != d.Held {
			all = append(all, d)
		}
	}
	return all
}
