// Package recording stores the inputs of the scheduling machine, and its decisions, on disk.
//
// A recording consists of segments. A segment belongs to a run: the steps of one machine, from its creation to its
// end. Each step has its time, limit, events, effects and wake-up time. A segment after the first of a run starts
// with a snapshot of all objects. So the state at a time can be computed without the segments before it. The
// writer deletes the oldest segments when all segments together exceed the maximum size.
//
// Objects are stored as values of engine/model, in the order and with the sharing that the machine received.
// Objects that share a specification or labels share them after decoding, too. In effects, pods, budgets and
// volumes are stored by their identity and resource version.
//
// Invariants:
//
//   - The caller of Step does not wait for the disk. If the writer is too slow or the disk is full, steps are dropped
//     and counted. The recording then has a gap and continues with a snapshot.
//   - Steps are written at least once a second, in frames with a checksum. After a crash, only an incomplete frame
//     at the end of the newest segment is lost.
//   - Equal effects have equal encodings: the encoding has no pointer, map order or time zone.
//
// A run can be replayed up to its end or its first gap if its first segment still exists.
package recording
