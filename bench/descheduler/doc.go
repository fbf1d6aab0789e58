// Command descheduler runs Berth's descheduling on a Workload in process and prints the
// cost of a pass as one line of JSON.
//
// parity/descheduler (make bench-parity) starts it, alternating with the Kubernetes descheduler. That module
// documents Workload and Result. The structs in work.go have the same fields.
//
// A pass over an existing snapshot is measured. In compatible mode it is RunPolicy with an API that grants all
// evictions. In planned mode it is also the planner, from the fork of the cluster to the finished plan. The
// conversion of the objects is not included, as the synchronization of informers is not included for the
// Kubernetes descheduler.
//
// The pass is repeated for at least -min-time of CPU time. The printed values are means per pass.
package main
