// Package upstreamguard prevents a controller from running concurrently with the same controller of
// kube-controller-manager.
//
//	controller enabled ─▶ is it listed in --upstream-off? ──yes──▶ run
//	                │ no
//	                ▼
//	  is the Lease kube-system/kube-controller-manager live? ──no──▶ run, and check again every 5 s
//	                │ yes
//	                ▼
//	             refuse, and name the flag that switches the upstream controller off
//
// A Lease is live while its holder renews it. If a Lease has recently expired by the local clock, the guard observes
// it for one lease duration, as candidates do, because clocks differ.
//
// Invariants, each with a test on virtual time:
//
//   - The table upstreamControllers contains every controller that also exists upstream.
//   - A Lease that cannot be read is an error.
//   - A kube-controller-manager that starts later stops the controllers.
package upstreamguard
