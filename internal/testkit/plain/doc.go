// Package plain makes nodes for tests and measurements of pressure whose pods
// are plain processes: a cgroup for the node, one below for each pod, and in it
// this very program as agent/workload. There is no runtime and no API: what is
// measured is the kernel and the pressure shell.
//
// A program that uses it calls Main first, so that it can be such a process.
package plain
