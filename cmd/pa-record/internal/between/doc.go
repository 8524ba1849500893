// Package between sends the requests of --between-levels.
package between
