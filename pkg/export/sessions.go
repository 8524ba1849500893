package export

// SessionCounts counts the sessions of a level, and their requests that were not sent. A session is in one of Completed, Failed,
// Overflow and Cut.
type SessionCounts struct {
	Begun int `json:"begun"`
	// Completed counts the sessions whose requests were all sent.
	Completed int `json:"completed"`
	// Failed counts the sessions that a failed request ended, Overflow the sessions that one ended with [StatusContextOverflow], and Cut
	// the sessions that the end of the level ended.
	Failed   int `json:"failed,omitempty"`
	Overflow int `json:"context_overflow,omitempty"`
	Cut      int `json:"cut,omitempty"`
	// NotSent counts the requests of these sessions that were not sent.
	NotSent NotSent `json:"not_sent,omitzero"`
	// Unanswered counts the requests that were sent without the answer to the request before, because that had failed.
	Unanswered int `json:"unanswered,omitempty"`
	// Unprimed counts the requests that failed before the measurement of sessions that began within their recordings. They are not
	// sent again.
	Unprimed int `json:"unprimed,omitempty"`
}

// NotSent counts requests that were not sent by what ended their session.
type NotSent struct {
	Failed   int `json:"failed,omitempty"`
	Overflow int `json:"context_overflow,omitempty"`
	End      int `json:"end,omitempty"`
}

// Plus adds the counts of o.
func (c *SessionCounts) Plus(o *SessionCounts) {
	c.Begun += o.Begun
	c.Completed += o.Completed
	c.Failed += o.Failed
	c.Overflow += o.Overflow
	c.Cut += o.Cut
	c.NotSent.Failed += o.NotSent.Failed
	c.NotSent.Overflow += o.NotSent.Overflow
	c.NotSent.End += o.NotSent.End
	c.Unanswered += o.Unanswered
	c.Unprimed += o.Unprimed
}
