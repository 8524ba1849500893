// Package simserver is the command "pa-record sim": the simulated server as a process, with its flags and the file of its ledger.
package simserver
