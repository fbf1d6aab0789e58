// Package workload defines the input of both schedulers in a measurement: a cluster, pods
// on it, and pods that arrive.
//
// A Workload is a file. The command kubescheduler and Berth's counterpart (bench/inprocess in
// the main module) use different versions of the same libraries and cannot be linked together.
// So each reads the file and makes the same pods from it. The field names of Workload and
// Result must be the same in both modules.
//
// The same case, size and seed make the same file.
package workload
