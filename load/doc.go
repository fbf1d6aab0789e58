// Package load puts the work of a real cluster on a cluster: it reads the node
// and pod lists of the OpenB trace, makes their pods at a rate, watches what
// becomes of them, and sums up.
//
// The trace says less than Kubernetes wants to know; what is assumed is listed
// by Assumptions and printed with every run.
package load
