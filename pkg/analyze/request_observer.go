package analyze

import (
	"context"

	"github.com/pa-tools/pa/pkg/export"
)

// An Observer sees everything that [Run] reads, so that a picture of the run needs no second pass
// over its file. Run calls the methods one after the other, and never two at a time.
type Observer interface {
	// Begin is called before the first request. It is called again if the file turns out to have an
	// unusual layout and is read anew: all that was observed before is void then.
	Begin(run *export.Run)
	// Request is called for each request, of any outcome and phase, in the order of the file. level
	// is its index in Run.Experiments. p has its Sending; p and all that it points to are valid until the
	// method returns.
	Request(level int, p *Point)
	// End is called after the last request, even if the rest of the file cannot be read. Run computes its
	// figures next, so an Observer with much work starts a goroutine for it. The run that
	// Begin got is complete. End is not called if Run cannot return figures.
	End()
	// Scrape is called for each scrape of telemetry, after the last request. s is valid until the
	// method returns.
	Scrape(s *export.Scrape)
}

// observedScrapes is a reader that shows each scrape to an Observer as well.
type observedScrapes struct {
	export.Reader
	observer Observer
}

// Scrapes implements [export.Reader].
func (r observedScrapes) Scrapes(ctx context.Context, do func(*export.Scrape) error) error {
	return r.Reader.Scrapes(ctx, func(s *export.Scrape) error {
		r.observer.Scrape(s)
		return do(s)
	})
}

// A Follower gets the requests of each level in the order of time when all are read, with less memory than
// Config.Series takes. [Run] calls the methods one after the other, and never two at a time.
type Follower interface {
	// Begin is called before the first request of the run is read, and again if the file turns out to
	// have an unusual layout and is read anew: all that came before is void then.
	Begin(run *export.Run)
	// Request is called for each request of the part that is analyzed, in the order of their starts,
	// including excluded ones. level is its index in Run.Experiments. p is valid until the method returns.
	Request(level int, p *Point)
	// Step is called for each step of the level, in their order, after its requests.
	Step(level int, s Step)
}
