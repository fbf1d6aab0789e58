// Package leaderelection lets one of several copies act at a time: the one that holds a Lease.
//
//	campaign ─▶ leading ──renewed──▶ leading
//	               │  no renewal granted for RenewDeadline: the gate closes
//	               ▼
//	             lost: nothing is sent any more, what is under way is given up
//
// The gate is in the way of every request of the loops. It is open for RenewDeadline after the moment
// at which the last granted renewal was SENT: others wait LeaseDuration, which is longer, from when they saw
// it, which was later. So a copy that was stopped, or cut off, or is just slow, sends nothing when another may
// lead, however late it notices.
//
// Invariants, each held by a test on virtual time:
//
//   - no request leaves, and none that waits for its answer goes on, later than RenewDeadline
//     after the last granted renewal was sent;
//   - a gate that closed stays closed;
//   - after an orderly stop the Lease is given back, when all work is done.
package leaderelection
