// Package simsettings reads the settings of the simulated server: the flags of
// "pa-record sim", and the query of sim://?ttft=20ms.
package simsettings
