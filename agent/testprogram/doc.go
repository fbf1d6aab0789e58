// Package testprogram is a program for pods of tests, benchmarks and demos. Its flags select its
// tasks: serve HTTP, allocate memory, write and read files, create files and processes. They also
// set when and how it exits. It prints a line when each task is done, so that a test can wait for it.
//
// The built-in image named workload contains berth itself, which runs only this program under
// that name (also as the hidden subcommand berth workload). It uses about 7 MB of memory when idle. The
// program built on its own (package program) is 7 MB large and uses 3 MB. It has no dependency on
// Kubernetes.
package testprogram
