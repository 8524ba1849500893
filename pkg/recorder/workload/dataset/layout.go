package dataset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pa-tools/pa/pkg/recorder/workload"
)

// A layout turns the rows of one file into entries. entries is first called for every row in
// order, then for any row again, with the same result.
type layout interface {
	// entries returns the entries of row i. No entries means that the row is skipped.
	entries(r *row, i int) ([]workload.Entry, error)
}

// A layoutKind describes a layout.
type layoutKind struct {
	name string
	what string // typical members of its rows, for messages
	// fits recognizes the layout by the first row of a file.
	fits func(r *row, f *file) bool
	make func(f *file, o *Options) layout
	// wholeSessions means that a row holds all turns of a session.
	wholeSessions bool
	// members are the names of all members of a row that the layout reads. Other members are
	// recorded as ignored. nil means that the layout itself handles other members, or that they
	// describe a request of the past, as in traces.
	members []string
}

// layouts is tried in this order, the most specific first.
var layouts = []layoutKind{
	{"inputs_json", `"payloads"`, fitsInputsJSON, newInputsJSON, true, []string{"session_id", "payloads"}},
	{"perf_analyzer", `"data" of perf_analyzer`, fitsPerfAnalyzer, newPerfAnalyzer, false, nil},
	{"burstgpt", `"Request tokens"`, fitsBurstGPT, newBurstGPT, false, nil},
	{"azure", `"ContextTokens"`, fitsAzure, newAzure, false, []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}},
	{"sharegpt", `"conversations"`, fitsShareGPT, newShareGPT, true, []string{"id", "conversation", "conversations"}},
	{"multi_turn", `"turns"`, fitsMultiTurn, newMultiTurn, true, nil},
	{"openorca", `"question"`, fitsOpenOrca, newOpenOrca, false, []string{"id", "system_prompt", "question", "response"}},
	{"cnn_dailymail", `"article"`, fitsCNNDailyMail, newCNNDailyMail, false, []string{"id", "article", "highlights"}},
	{"mooncake", `"input_length"`, fitsMooncake, newMooncake, false, nil},
	{"requests", "a whole request", fitsRequests, newRequests, false, nil},
	{"prompts", strings.Join(quoteAll(promptColumns), ", "), fitsPrompts, newPrompts, false, nil},
}

// Layouts returns the names of all layouts.
func Layouts() []string {
	var all []string
	for _, l := range layouts {
		all = append(all, l.name)
	}
	return all
}

func findLayout(name string) *layoutKind {
	i := slices.IndexFunc(layouts, func(l layoutKind) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return &layouts[i]
}

// chooseLayout selects the layout of a file by its first row.
func chooseLayout(f *file, first *row, o *Options) (*layoutKind, error) {
	if o.Layout != "" {
		l := findLayout(o.Layout)
		if !l.fits(first, f) {
			return nil, fmt.Errorf("is not a row of %s, which has %s; it has %s", l.name, l.what, columnNames(first))
		}
		return l, nil
	}
	for i := range layouts {
		if layouts[i].fits(first, f) {
			return &layouts[i], nil
		}
	}
	var known []string
	for _, l := range layouts {
		known = append(known, l.what)
	}
	return nil, fmt.Errorf("none of its members is known to hold a prompt: it has %s; expected one of %s", columnNames(first), strings.Join(known, ", "))
}

// columnNames lists the members of a row, for messages.
func columnNames(r *row) string {
	const most = 12
	names := quoteAll(r.names())
	switch {
	case len(names) == 0:
		return "nothing"
	case len(names) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func quoteAll(names []string) []string {
	all := make([]string, len(names))
	for i, n := range names {
		all[i] = fmt.Sprintf("%q", clip([]byte(n)))
	}
	return all
}
