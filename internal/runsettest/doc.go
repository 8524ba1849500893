// Package runsettest makes runs with chosen times, for tests of several runs.
package runsettest
