// Package leaderelection allows only one of several instances to act: the holder of a Lease.
//
//	candidate ─▶ leading ──renewed──▶ leading
//	               │  no renewal succeeded for RenewDeadline: the gate closes
//	               ▼
//	             lost: no more requests are sent, requests in flight are canceled
//
// Every request of the controllers passes the gate. The gate is open for RenewDeadline after this instance sent the
// last successful renewal. Other candidates wait for LeaseDuration, which is longer and starts later: when they
// observe the renewal. An instance that was suspended, partitioned or slow therefore sends no requests while another
// one may lead.
//
// Invariants, each covered by a test on virtual time:
//
//   - no request is sent, and no response is awaited, later than RenewDeadline
//     after the last successful renewal was sent;
//   - a closed gate stays closed;
//   - an orderly shutdown releases the Lease after all work has ended.
package leaderelection
