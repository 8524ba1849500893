// Package comparisons has the commands of pa-analyze that compare runs: diff (two sides), rig
// (runs of one setting) and trend (runs over time).
package comparisons
