// Package workload says what both schedulers are given in a measurement: a cluster,
// pods on it, and pods that arrive.
//
// A Work is a file. The real kube-scheduler (command peer) and Berth (bench/inprocess
// in the main module) are made of different versions of the same libraries and
// cannot be linked together, so each reads the file and makes the same pods of it. The
// field names of Work and Result are the contract between the three.
//
// Invariant: the same shape, size and seed make the same file.
package workload
