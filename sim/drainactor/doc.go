// Package drainactor runs evacuation.Drain in a simulated cluster, as berth drain does in a real one.
// Faults can be injected into its requests; it reads the current state of the cluster. Kubectl simulates kubectl
// drain.
package drainactor
