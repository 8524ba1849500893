package frontend

import (
	"fmt"
	"slices"
	"strings"
)

// An option is a flag of a tool.
type option struct {
	// names are as they are typed, with dashes. The first long one stands for
	// the option in messages.
	names []string
	// arg names the value on the help page; "" is an option without one.
	arg     string
	kind    kind
	choices []string // what the value may be; nil: anything
	initial string   // the tool's own default; "" is none
	list    bool     // takes all values up to the next option
	repeat  bool     // given again it adds a value, and does not replace it

	group string
	usage string
	fate  fate
	// note says what becomes of the option, or why nothing does.
	note string
}

// A kind says how a value is read.
type kind uint8

const (
	text     kind = iota
	whole         // an integer
	natural       // an integer from 0 on
	positive      // an integer from 1 on
	number        // a floating point number, inf and nan too
	above         // a finite one above 0
)

// A fate says what becomes of an option here.
type fate uint8

const (
	// same is a flag of pa-record with the same name and meaning.
	same fate = iota
	// alias is another flag of pa-record, or several.
	alias
	// body is a part of what is sent, see --request-template.
	body
	// hint is for the analysis: kept in the export, followed by pa-analyze.
	hint
	// unneeded is accepted and does nothing.
	unneeded
	// refused is an error.
	refused
)

// name is what the option is called in messages.
func (o *option) name() string {
	for _, n := range o.names {
		if strings.HasPrefix(n, "--") {
			return n
		}
	}
	return o.names[0]
}

// options is the table of a release.
type options []option

// find returns the option with one of its names, nil if there is none.
func (os options) find(name string) *option {
	for i := range os {
		if slices.Contains(os[i].names, name) {
			return &os[i]
		}
	}
	return nil
}

// must is find for the names in this package's code.
func (os options) must(name string) *option {
	o := os.find(name)
	if o == nil {
		panic(fmt.Sprintf("frontend: no option %s", name))
	}
	return o
}

// join returns the rows of all tables.
func join(tables ...options) options { return slices.Concat(tables...) }
