// Package heap keeps the memory of a program small while it measures: it chooses how much garbage may
// gather, and gives back what only the start of the program needs. It also tells how much memory is free.
package heap
