// Package runindex names the runs of --repeat and of several servers in messages and tables.
package runindex
