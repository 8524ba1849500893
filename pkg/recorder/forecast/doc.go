// Package forecast says before a load what the runs of a command line take together: time, requests,
// tokens and bytes on the disk. [Load.Forecast] adds up what [recorder.Config.Forecast] says of each
// level, with [Facts] of the input data and sizes of files that were measured.
//
// Each figure has a bound, and says what it rests on or why there is none.
package forecast
