// Package logfile reads container logs in the CRI format:
//
//	2026-01-02T15:04:05.123456789Z stdout F a whole line
//	2026-01-02T15:04:05.123456790Z stderr P a piece of a long line,
//	2026-01-02T15:04:05.123456791Z stderr F and its end
//
// A log includes its rotated files. Those are named PATH.SUFFIX, where the suffix is a time
// (digits, hyphens and dots), and precede PATH in the order of their suffixes. Others (.gz,
// .tmp) are ignored.
//
// Invariants:
//
//   - A follower sees every line written while it follows exactly once, also across rotations.
//   - A line is shown when it is complete.
//   - Lines in other formats are skipped.
//
// Differences from Kubernetes: the kubelet reads only the current file (kubernetes#59902), and
// its tail counts pieces of lines.
package logfile
