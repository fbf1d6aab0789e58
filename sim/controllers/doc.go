// Package controllers starts the controllers of a cluster in the simulator (sim/reconciler): taint eviction, node
// lifecycle, pod GC, disruption, displacement records, volumes, endpoints and garbage collection. Subpackage workload
// starts the workload controllers; subpackage descheduler starts the descheduler. The package itself simulates only an
// external volume provisioner.
package controllers
