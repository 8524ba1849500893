package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// betweenLabels compares the labels within each side. The sides themselves may have different
// labels, but a side with two labels has runs of two servers.
func betweenLabels(older, newer []*Level) (o, n string, differ bool) {
	labels := func(levels []*Level) (all []string) {
		for _, l := range levels {
			if l.label != "" && !slices.Contains(all, l.label) {
				all = append(all, l.label)
			}
		}
		return all
	}
	a, b := labels(older), labels(newer)
	return strings.Join(a, ", "), strings.Join(b, ", "), len(a) > 1 || len(b) > 1
}

// betweenDatasets compares the input data: the hashes of the prompts if all runs recorded
// them, otherwise the hashes that include the parameters.
func betweenDatasets(older, newer []*Level) (o, n string, differ bool) {
	hash := func(l *Level) string { return l.promptHash }
	if !promptsKnown(older) || !promptsKnown(newer) {
		hash = func(l *Level) string { return l.datasetHash }
	}
	texts := func(levels []*Level) []string {
		var texts []string
		for _, l := range levels {
			text := unknown
			if h := hash(l); h != "" {
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

// promptsKnown reports whether all runs recorded the hash of their prompts, and so
// separated the prompts from the parameters.
func promptsKnown(levels []*Level) bool {
	return !slices.ContainsFunc(levels, func(l *Level) bool { return l.promptHash == "" })
}

// betweenParameters compares the parameters of the requests that are not part of the prompt
// and names the different ones. If a run did not record its parameters, it compares nothing.
func betweenParameters(older, newer []*Level) (o, n string, differ bool) {
	if !promptsKnown(older) || !promptsKnown(newer) {
		return unknown, unknown, false
	}
	return betweenNamed(older, newer, func(l *Level) map[string]string { return l.parameters }, nil)
}

// betweenNamed compares named values of the levels, except the names in skip, and returns
// the different ones. A value that differs within one side counts as different.
func betweenNamed(older, newer []*Level, namedValues func(*Level) map[string]string, skip map[string]bool) (o, n string, differ bool) {
	names := map[string]bool{}
	for _, l := range slices.Concat(older, newer) {
		for name := range namedValues(l) {
			names[name] = true
		}
	}
	values := func(levels []*Level, name string) []string {
		var v []string
		for _, l := range levels {
			if s := cmp.Or(namedValues(l)[name], "not set"); !slices.Contains(v, s) {
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
