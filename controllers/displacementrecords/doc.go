// Package displacementrecords maintains displacement records, and the Avoid Holds that follow from them.
//
// An actor that displaces a pod through displacer.Displacer writes the record itself, in an event whose name is
// derived from the pod. This controller has the other tasks:
//
//   - missing: if another program (another API server, a kubelet, kube-scheduler) displaced a pod, it writes the
//     record from the pod's condition and status;
//   - complete: it adds when the pod was deleted, which pod replaced it and on which node, and when the replacement
//     was ready;
//   - journal: it copies records into the journal, which outlasts events;
//   - holds: it creates Avoid Holds for pods that their node evicted, deletes them when the cause ends, and deletes
//     expired Holds of any type.
//
// All state is derived from pods and events, so restarts and several instances are harmless. The controller does not
// record pods that other programs displaced and that were deleted while no instance ran.
//
// A user with write access to the events of a namespace can write records there. The role edit allows this, but not
// writing Holds, and its users may know UIDs of other namespaces. The controller therefore trusts such a record only
// for pods of the same namespace, which its writer could delete anyway (FromEvent). Writers with access to events of
// all namespaces, such as Berth's components, can write the records of all pods. The admission plugin NodeRestriction
// of Berth's API server limits a node to records about itself and pods bound to it.
//
// Invariants, each covered by a test:
//
//   - Unique: a displaced pod has one record, however many writers there are.
//   - Ended: no Hold outlasts its cause, as far as the Node object shows.
//   - Namespaced: a record has no effect outside the namespace of its event, even if it names UIDs of other namespaces.
//   - Bounded: no Hold lasts longer than Backoff.Max after its event was created, regardless of the time in the record.
package displacementrecords
