// Package reading reads the runs that a command of pa-analyze is given, with the load levels
// that --experiment chooses: for reports (Analyze, Levels) and for comparisons (Side, Points).
package reading
