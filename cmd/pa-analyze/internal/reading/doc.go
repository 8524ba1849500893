// Package reading reads the runs that the arguments of a command of pa-analyze name, with the
// load levels that --experiment chooses: Analyze and Levels for reports, Side and Points for
// comparisons.
package reading
