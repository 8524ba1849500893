package profilejson

import "github.com/pa-tools/pa/pkg/export"

// A warnKind is what makes two warnings the same one, counted.
type warnKind int

const (
	warnHeader    warnKind = iota // each is reported, up to a bound
	warnDuplicate                 // a member is there twice
	warnRow                       // a request of wrong types was left out
	warnSide                      // a member of the wrong type, without which the request was read
	warnCount                     // as many outputs as timestamps
	warnOutput                    // an output that is no object
	warnMeta                      // odd content of a request's "pa"
	warnSample                    // telemetry that was left out
	warnKinds
)

// maxHeaderWarnings bounds how many different header problems are listed.
const maxHeaderWarnings = 16

// warnings collects problems, each kind once with a count.
type warnings struct {
	list  []export.Warning
	index [warnKinds]int // index+1 in list
	heads int
}

// known counts a further warning of a kind that is listed already, and reports
// whether it was: then its text need not be made.
func (w *warnings) known(kind warnKind) bool {
	if kind == warnHeader && w.heads < maxHeaderWarnings || w.index[kind] == 0 {
		return false
	}
	w.list[w.index[kind]-1].Count++
	return true
}

func (w *warnings) add(kind warnKind, x export.Warning) {
	if w.known(kind) {
		return
	}
	if kind == warnHeader {
		w.heads++
	}
	x.Count = 1
	w.list = append(w.list, x)
	w.index[kind] = len(w.list)
}
