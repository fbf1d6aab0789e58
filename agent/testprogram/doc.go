// Package testprogram is a program to run in pods that shows what a node is good for: it
// serves HTTP, takes memory at a rate, writes and reads files, makes inodes and
// processes, ends with a code, and is deaf to SIGTERM, as its flags say.
//
// Tests and benchmarks of pressure run it in containers and in bare cgroups;
// berth can be it, too (the hidden subcommand `berth workload`). It prints one line when
// each of its works is done, so that a test can wait for the state it wants.
//
// It knows nothing of Kubernetes and links little: as a process of its own it is
// 7 MB large and idles at 3 MB. A berth that is run under the name workload is nothing else
// (the built-in image is made so) and idles at some 7 MB of its own.
package testprogram
