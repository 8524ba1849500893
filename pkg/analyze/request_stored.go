package analyze

import (
	"fmt"

	"github.com/pa-tools/pa/internal/sanitize"
	"github.com/pa-tools/pa/pkg/answer"
	"github.com/pa-tools/pa/pkg/export"
)

// A storedUse says how the derived values of a file are used.
type storedUse struct {
	derived export.DerivedUse
	check   export.Check
	// derivation describes the values.
	derivation export.Derivation
	// timesOnly says that the file lacks the outputs, so that only times can be checked.
	timesOnly bool
}

// replaces reports whether the values are used in place of the answers.
func (u *storedUse) replaces() bool { return u.derived >= export.DerivedInstead }

// useOf decides how the derived values of r are used. contradicted says that the values contradict
// the recording.
//
// Values that match cfg replace the answers, and a sample of the requests is computed again. With
// Config.Verify the figures come from the answers, and all requests are checked. A follower also needs
// the answers; a sample is checked.
func useOf(r export.Reader, cfg *Config, contradicted bool) (u storedUse) {
	stored := export.StoredIn(r)
	c := cfg.PerRequest()
	if stored == nil || !c.Matches(stored.Derivation) {
		return u
	}
	u.derivation, u.timesOnly = stored.Derivation, !stored.Outputs
	switch {
	case contradicted && !u.timesOnly:
		u.derived = export.DerivedUnused
		return u
	case contradicted:
	case cfg.Verify:
		u.check = export.CheckAll
	default:
		u.check = export.CheckSample
	}
	switch {
	case cfg.follows() || cfg.Verify && !u.timesOnly: // a follower's points have a hash of the inputs
	case cfg.keeps() || cfg.Verify || contradicted:
		u.derived = export.DerivedInstead
	default:
		u.derived = export.DerivedBrief
	}
	return u
}

// checker returns a Checker of the derived values of run; nil if they cannot be computed again.
func (u *storedUse) checker(run *export.Run, cfg *Config) *answer.Checker {
	if u.check == export.CheckNone {
		return nil
	}
	c := cfg.PerRequest()
	checker, err := answer.NewChecker(run, u.derivation, c.Counter, c.Tokenizer)
	if err != nil {
		checker, err = answer.NewUncountedChecker(run, u.derivation)
	}
	if err != nil { // Matches allows no such derivation
		return nil
	}
	return checker
}

// storedModel returns the model that the first request of the file names, from the metadata of
// the file. ok is false if its derived values are not used.
func (u *storedUse) storedModel() (model string, ok bool) {
	if !u.replaces() {
		return "", false
	}
	return u.derivation.Model, true
}

// A contradiction is the error that derived values differ from the values that the recording gives.
type contradiction struct {
	answer.Difference
	request string // names the first request
	checked int    // requests that were checked
	found   int    // checked requests with a difference
}

// Error implements error.
func (c *contradiction) Error() string { return "the derived columns contradict the recorded answers" }

// add adds the requests of o, which come later.
func (c *contradiction) add(o *contradiction) {
	if c.found == 0 && o.found > 0 {
		c.Difference, c.request = o.Difference, o.request
	}
	c.checked += o.checked
	c.found += o.found
}

// nameOf names a request in messages.
func nameOf(r *export.Request) string {
	if r.HasMeta {
		return fmt.Sprintf("request %d (timestamp %d)", r.ID, r.StartNS)
	}
	return fmt.Sprintf("the request with the timestamp %d", r.StartNS)
}

// warning returns the warning about c. timesOnly says that the file has no outputs, and all says that
// all requests were checked.
func (c *contradiction) warning(timesOnly, all bool) error {
	from := "the recorded answers"
	if timesOnly {
		from = "the recorded times"
	}
	which := "the derived columns"
	if all {
		which += " of " + ofRequests([]int64{int64(c.found), int64(c.checked)})
	}
	example := c.request + " lacks them, or has damaged ones"
	if c.Column != "" {
		example = fmt.Sprintf("%s has %s %s, computed %s", c.request, c.Column, sanitize.Clip(c.Stored, maxQuotedBytes), sanitize.Clip(c.Computed, maxQuotedBytes))
	}
	return &Warning{Kind: KindContradiction, Sub: "derived", text: fmt.Sprintf(
		"%s contradict %s: %s; all figures are computed from %s; the file was changed after it was written: pa-analyze convert computes the columns again",
		which, from, example, from)}
}

// unverified is the warning about derived values that cannot be computed again.
func unverified() error {
	return &Warning{Kind: KindContradiction, Sub: "unverified", text: "the numbers of tokens are from derived columns and are not verified: the outputs from which they were computed are not in the file"}
}
