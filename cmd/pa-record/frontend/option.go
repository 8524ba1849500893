package frontend

import (
	"fmt"
	"slices"
	"strings"
)

// An option describes one flag of a tool.
type option struct {
	// names holds every spelling, with dashes. Messages use the first long one.
	names []string
	// arg names the value on the help page; "" means the option takes no value.
	arg          string
	kind         kind
	choices      []string // accepted values; nil accepts anything
	defaultValue string   // the tool's own default; "" means none
	list         bool     // takes every value up to the next option
	repeat       bool     // a second use adds a value instead of replacing the first

	group string
	usage string
	// support and note say how pa-record treats the option, and why.
	support support
	note    string
}

// A kind is the type of an option's value.
type kind uint8

const (
	text     kind = iota
	whole         // an integer
	natural       // an integer from 0 on
	positive      // an integer from 1 on
	number        // a floating point number, inf and nan too
	above         // a finite number above 0
)

// support says how pa-record treats an option of the tool.
type support uint8

const (
	// same: pa-record has a flag with this name and meaning.
	same support = iota
	// alias: one or several other flags of pa-record do the same.
	alias
	// body: the option changes the request template.
	body
	// hint: the export records the option for pa-analyze.
	hint
	// unneeded: accepted without effect.
	unneeded
	// refused: an error.
	refused
)

// name returns the name that messages use.
func (o *option) name() string {
	for _, n := range o.names {
		if strings.HasPrefix(n, "--") {
			return n
		}
	}
	return o.names[0]
}

// options is the option table of a release.
type options []option

// find returns the option that has this name, or nil.
func (os options) find(name string) *option {
	for i := range os {
		if slices.Contains(os[i].names, name) {
			return &os[i]
		}
	}
	return nil
}

// must is find for names written in this package. It panics if there is none.
func (os options) must(name string) *option {
	o := os.find(name)
	if o == nil {
		panic(fmt.Sprintf("frontend: no option %s", name))
	}
	return o
}
