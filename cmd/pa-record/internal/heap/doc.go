// Package heap steers the garbage collector of a program that measures times. Collections
// disturb the receivers, so they are rare while the program uses little memory. The more
// memory it uses, the more often they come, which bounds the memory that garbage takes.
package heap
