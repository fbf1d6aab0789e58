// Package load creates the workload of a real cluster. It reads the node and pod lists of the
// OpenB trace, creates the pods at a rate, watches them and summarizes the result.
//
// The trace contains less than Kubernetes needs. Assumptions lists what the conversion adds; it is
// printed with every run.
package load
