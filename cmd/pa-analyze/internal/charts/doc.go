// Package charts has the commands of pa-analyze that compare load levels of several runs: plot
// draws the levels, and pareto prints their Pareto frontier.
package charts
