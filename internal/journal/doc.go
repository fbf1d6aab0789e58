// Package journal stores displacement records and scheduling decisions on disk. It defines the
// JSON form of a displacement record, which events carry in an annotation as well.
//
// A journal is a directory of JSON-lines files, each written by one process. A file that reaches
// its maximum size is followed by a new one, and the oldest files are deleted. Decisions are stored
// in separate files in the same way.
//
// Invariants:
//
//   - Durability: when Append returns nil, the lines survive a crash of process and machine.
//   - Incomplete lines: only the incomplete line itself is lost, for readers and for the next writer.
//   - Merging: readers merge the lines about a pod into one record.
package journal
