package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// betweenDatasets compares the input data: the prompts alone if all runs recorded their
// hash, else all of what was sent.
func betweenDatasets(older, newer []*Level) (o, n string, differ bool) {
	of := func(l *Level) string { return l.promptHash }
	if !promptsKnown(older) || !promptsKnown(newer) {
		of = func(l *Level) string { return l.datasetHash }
	}
	texts := func(levels []*Level) []string {
		var texts []string
		for _, l := range levels {
			text := unknown
			if h := of(l); h != "" {
				text = "sha256:" + h
			}
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return texts
	}
	a, b := texts(older), texts(newer)
	differ = len(a) > 1 || len(b) > 1 || len(a) == 1 && len(b) == 1 && a[0] != b[0]
	return strings.Join(a, ", "), strings.Join(b, ", "), differ
}

// promptsKnown reports whether all runs recorded what the model read apart from the
// parameters.
func promptsKnown(levels []*Level) bool {
	return !slices.ContainsFunc(levels, func(l *Level) bool { return l.promptHash == "" })
}

// betweenParameters compares the parameters of requests that the model does not read and
// names the different ones. If a run did not record them, nothing is compared.
func betweenParameters(older, newer []*Level) (o, n string, differ bool) {
	if !promptsKnown(older) || !promptsKnown(newer) {
		return unknown, unknown, false
	}
	return betweenNamed(older, newer, func(l *Level) map[string]string { return l.parameters }, nil)
}

// betweenNamed compares named values of the levels, but for the names in skip, and names
// the different ones. A value that differs within a side differs.
func betweenNamed(older, newer []*Level, of func(*Level) map[string]string, skip map[string]bool) (o, n string, differ bool) {
	names := map[string]bool{}
	for _, l := range slices.Concat(older, newer) {
		for name := range of(l) {
			names[name] = true
		}
	}
	values := func(levels []*Level, name string) []string {
		var v []string
		for _, l := range levels {
			if s := cmp.Or(of(l)[name], "not set"); !slices.Contains(v, s) {
				v = append(v, s)
			}
		}
		return v
	}
	var texts [2][]string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := values(older, name), values(newer, name)
		if skip[name] || len(a) == 1 && slices.Equal(a, b) {
			continue
		}
		for i, v := range [...][]string{a, b} {
			texts[i] = append(texts[i], name+" "+strings.Join(v, ", "))
		}
	}
	return strings.Join(texts[0], "; "), strings.Join(texts[1], "; "), texts[0] != nil
}
