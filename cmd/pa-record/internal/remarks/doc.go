// Package remarks words what pa-record says about a run beside its results: warnings about
// levels, and notes on sweeps, searches and settings. It prints one line for each.
package remarks
