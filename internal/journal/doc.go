// Package journal keeps records of decisions on disk, and says what they look like: the one
// JSON form of a displacement, which an event carries in an annotation and a journal has as
// a line.
//
// What a scheduler decided about each pod (Decision) is kept beside these in files own, in the same way.
//
// A journal is a directory of files, each of lines of JSON, written by one process each.
// A file that has grown enough is followed by a new one, and the oldest ones go when there
// are too many, so that a journal stays below a size.
//
// Invariants:
//
//   - Appended: once Append has returned nil the lines survive a crash of process and machine.
//   - Torn: a line that a crash cut off costs that line alone, for readers and the next writer.
//   - One: of several lines about one pod readers make one record, the fullest.
package journal
