// Package host describes the machine on which a run was recorded, for the header of its
// export. It reads the machine's name, kernel release, operating system, architecture
// and number of CPUs, and the version of Go that built the program.
package host
