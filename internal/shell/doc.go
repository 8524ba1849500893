// Package shell writes commands that a person can paste into a POSIX shell.
//
// Every command that a program prints or suggests is composed here, so that names with
// blanks, quotes or patterns reach the other program as they are.
package shell
