// Package pause holds the program that a pod's sandbox runs: it waits, reaps
// the orphans that become its children when it is process 1 of the pod, and ends
// on SIGTERM and SIGINT.
//
// It is some hundred bytes of machine code in an ELF file made here, since a Go program
// would cost each pod some megabytes and berth itself some ten. Where there is none
// for the architecture, a sandbox image must be named.
package pause
