// Command descheduler runs Berth's descheduling on a Workload in process and prints the
// cost of a pass as one line of JSON.
//
// parity/descheduler (make bench-parity) starts it, alternating with the Kubernetes descheduler. That module
// documents Workload and Result. The structs in work.go have the same fields.
//
// The benchmark measures a pass over an existing snapshot. In compatible mode, a pass is RunPolicy with an API that
// grants all evictions. In planned mode, it also includes the planner, from the fork of the cluster to the finished
// plan. The cost excludes the conversion of objects. For the Kubernetes descheduler it excludes the synchronization
// of informers.
//
// The command repeats the pass for at least -min-time of CPU time and prints means per pass.
package main
