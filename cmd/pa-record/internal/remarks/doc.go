// Package remarks prints the warnings and notes of a run, one a line: warnings about levels, and
// notes on sweeps, searches and settings.
package remarks
