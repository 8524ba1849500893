// Package charts has the commands of pa-analyze that set load levels of several runs against
// one another: plot, which draws them, and pareto, which prints their frontier.
package charts
