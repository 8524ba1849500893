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
// them, otherwise the hashes that include the parameters. Runs of one side may have
// different input data, as runs of different seeds have, if the other side has the same
// input data in the same shares.
func betweenDatasets(older, newer []*Level) (o, n string, differ bool) {
	hash := func(l *Level) string { return l.promptHash }
	if !promptsKnown(older) || !promptsKnown(newer) {
		hash = func(l *Level) string { return l.datasetHash }
	}
	a, b := runsByHash(older, hash), runsByHash(newer, hash)
	for h := range maps.Keys(a) {
		differ = differ || a[h]*len(newer) != b[h]*len(older)
	}
	differ = differ || len(a) > 0 && len(b) > len(a)
	return hashesText(a), hashesText(b), differ
}

func runsByHash(levels []*Level, hash func(*Level) string) map[string]int {
	runs := map[string]int{}
	for _, l := range levels {
		runs[hash(l)]++
	}
	return runs
}

// hashesText lists hashes, of which several are shortened: else a row of the output has
// room for the first alone.
func hashesText(runs map[string]int) string {
	const digits = 12
	var texts []string
	for _, h := range slices.Sorted(maps.Keys(runs)) {
		switch {
		case h == "":
			h = unknown
		case len(runs) > 1:
			h = "sha256:" + h[:min(digits, len(h))]
		default:
			h = "sha256:" + h
		}
		texts = append(texts, h)
	}
	return strings.Join(texts, ", ")
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
