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
	all := slices.Concat(older, newer)
	of := func(l *Level) string { return l.promptHash }
	if slices.ContainsFunc(all, func(l *Level) bool { return l.promptHash == "" }) {
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

// betweenParameters compares the parameters of requests that the model does not read and
// names the different ones. If a run did not record them, nothing is compared.
func betweenParameters(older, newer []*Level) (o, n string, differ bool) {
	names := map[string]bool{}
	for _, l := range slices.Concat(older, newer) {
		if l.promptHash == "" {
			return unknown, unknown, false
		}
		for name := range l.parameters {
			names[name] = true
		}
	}
	values := func(levels []*Level, name string) []string {
		var v []string
		for _, l := range levels {
			if s := cmp.Or(l.parameters[name], "not set"); !slices.Contains(v, s) {
				v = append(v, s)
			}
		}
		return v
	}
	var texts [2][]string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := values(older, name), values(newer, name)
		if len(a) == 1 && slices.Equal(a, b) {
			continue
		}
		for i, v := range [...][]string{a, b} {
			texts[i] = append(texts[i], name+" "+strings.Join(v, ", "))
		}
	}
	return strings.Join(texts[0], "; "), strings.Join(texts[1], "; "), texts[0] != nil
}
