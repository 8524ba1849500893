// Package signals hands the signals of the process to the stage of pa-record that handles
// them. A [Relay] passes a signal to the stage that claimed the signals, or else to the
// program, which then ends. [Watch] is the claim of a run: the first signal stops the
// load, the second one ends the run at once.
package signals
