// Package journal stores displacement records and scheduling decisions on disk. It defines the
// JSON form of a displacement record, which events carry in an annotation as well.
//
// A journal is a directory of JSON-lines files, each written by one process. When a file reaches its
// maximum size, the writer starts a new one and deletes its oldest files. It stores decisions in
// separate files in the same way.
//
// Invariants:
//
//   - Durability: when Append returns nil, the lines survive a crash of process and machine.
//   - Incomplete lines: only the incomplete line itself is lost, for readers and for the next writer.
//   - Merging: readers merge the lines about a pod into one record.
package journal
