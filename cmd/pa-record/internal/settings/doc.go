// Package settings is the command line of pa-record: its flags, and their values, checked
// and with every default spelled out.
//
// Each group of settings has one file with its flags, its parser and its checks: the
// target (target.go, servers.go, models.go), connections, TLS, load (load.go, search.go,
// autosweep.go), measurement, inputs (inputs.go, synthetic.go, media.go, sequences.go),
// triton, output (output.go, repeat.go) and metrics. [New] reads the groups one after the other and reports all
// mistakes at once, as a usage error.
//
// [Settings] as JSON is what --dry-run prints and what an export keeps. It holds no
// secrets: fields that may hold some have no JSON key. Durations with a JSON key are
// milliseconds.
package settings
