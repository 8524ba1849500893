package analyze

import "github.com/pa-tools/pa/pkg/export"

// A figureGroup gathers the figures of a part of the report while the requests of a level pass by. A group is a file
// figure_NAME.go, a field of Config that asks for it, a field of Experiment, and a line in groups.
type figureGroup interface {
	// add adds a request that counts, when its metrics have been added to the samples of the level.
	add(p *Point)
	// end sums up the values after the last request, while the samples of the level have their order. The error
	// says that values could not be read back from a temporary file.
	end() error
	// set sets the figures in the analysis x of the level, which has its metrics, its rates and the reasons why it
	// lacks some.
	set(x *Experiment, run *export.Run)
}
