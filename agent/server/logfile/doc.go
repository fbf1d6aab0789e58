// Package logfile reads what containers wrote, from the files that a container
// runtime keeps of it in CRI's format:
//
//	2026-01-02T15:04:05.123456789Z stdout F a whole line
//	2026-01-02T15:04:05.123456790Z stderr P a piece of a long line,
//	2026-01-02T15:04:05.123456791Z stderr F and its end
//
// A log goes on over rotations: what was renamed to PATH.SUFFIX comes before
// what is in PATH, in the order of the suffixes, which are times: digits, hyphens
// and dots. Others (.gz, .tmp) are not read.
//
// Invariants:
//
//   - A follower sees every line that the file at PATH got while it followed,
//     once, over rotations, too.
//   - A line that is being written is shown when it is complete.
//   - Lines that are not in the format are left out: nothing is guessed.
//
// Departures from Kubernetes: the kubelet reads only the current file
// (kubernetes#59902), and its tail counts pieces of lines.
package logfile
