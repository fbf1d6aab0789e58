// Package pause provides the program of a pod's sandbox. It waits, reaps orphans if it is process
// 1 of the pod, and exits on SIGTERM and SIGINT.
//
// The program is a few hundred bytes of machine code in an ELF file that this package builds. A
// Go program would cost megabytes per pod. On architectures without machine code a sandbox image
// must be configured.
package pause
