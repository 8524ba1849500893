// Package heap steers the garbage collector of a program that measures times. Collections
// disturb the receivers, so they are rare while little memory is in use. The more is in
// use, the more often they come, so that garbage takes no multiple of it.
package heap
