// Package upstreamguard keeps a loop from fighting the one of kube-controller-manager that does the same work.
//
//	loop named ─▶ is its twin said to be off? ──yes──▶ run
//	                │ no
//	                ▼
//	  is the Lease kube-system/kube-controller-manager live? ──no──▶ run, and look again every 5 s
//	                │ yes
//	                ▼
//	             refuse, and say which flag switches the twin off
//
// A Lease is live when somebody holds it and renews it. One that looks expired by our clock, but not long
// since, is watched for one lease duration, as those who compete for it do: clocks differ.
//
// Invariants, each held by a test on virtual time: every loop that has a twin is in the table; a Lease
// that cannot be read is no permission; a manager that comes later ends the loops.
package upstreamguard
