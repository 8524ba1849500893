package levelpair

import (
	"cmp"
	"fmt"
	"slices"
)

// By says which levels of two sides are compared with each other.
type By string

const (
	// Load pairs levels of the same load.
	Load By = ""
	// Order pairs the first levels, the second levels and so on, whatever their loads.
	Order By = "order"
	// Kind does the same for the levels of each mode: the first request rate with the first request rate.
	Kind By = "kind"
)

// Parse returns the By of a text: "load", "order" or "kind".
func Parse(text string) (By, error) {
	if text == "load" {
		return Load, nil
	}
	if b := By(text); slices.Contains([]By{Order, Kind}, b) {
		return b, nil
	}
	return Load, fmt.Errorf("%q: give load, order or kind", text)
}

// Key returns what two paired levels have in common, beside their number among the levels of this key: the load, the mode, or nothing.
func (b By) Key(mode, load string) string {
	switch b {
	case Order:
		return ""
	case Kind:
		return mode
	}
	return load
}

// String returns the text that [Parse] reads.
func (b By) String() string {
	if b == Load {
		return "load"
	}
	return string(b)
}

// Name returns the name of a pair of levels: both names if they differ. "" is a load that a file does not state.
func Name(older, newer string) string {
	if older == newer {
		return older
	}
	const unknown = "load not stated"
	return cmp.Or(older, unknown) + " → " + cmp.Or(newer, unknown)
}

// Line says how n levels were paired, and how many of the pairs have different loads; "" for levels that were paired by their loads.
func (b By) Line(differing, n int) string {
	if b == Load {
		return ""
	}
	return fmt.Sprintf("levels are paired by their %s, not by their loads (--pair %s): the loads of %d of %d pairs differ", b, b, differing, n)
}
