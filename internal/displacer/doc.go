// Package displacer performs displacements: it executes the actions of displacement.Machine against an API. Preemption,
// eviction requests, taints and pod garbage collection use it; drains and the descheduler do so through the eviction API.
//
// Driver executes a displacement on a Store. There are two stores. One is that of a client (preemption, taints, pod
// garbage collection). The other is that of the API server (internal/eviction), which the simulator replaces by its
// own. The machine decides; a store only reads and writes objects.
//
// Displacer is a Driver with the store of a client. The displacement record is an event. Its name is derived from the
// pod's name and UID, so the event exists at most once. The record replaces one that was reconstructed from the pod's
// condition. No pod is deleted before its event exists, unless the API server rejects the event permanently. The record
// is also appended to the journal, if there is one; a journal error does not stop the displacement. The first writer of
// the record counts the displacement, once, across repetitions and lost responses.
package displacer
