// Package displacementrecords looks after the records of displacements, and after what follows from them.
//
// Who displaces a pod through actuate's door writes the record itself, in an event whose name follows
// from the pod. This loop does the rest:
//
//   - told: of a pod that somebody else displaced (another cluster's eviction API, a kubelet,
//     kube-scheduler) it writes the record afterwards, from the pod's condition and status;
//   - complete: it adds when the pod was gone, which pod came for it, where that went, and when it was
//     ready;
//   - keep: it copies records into the journal, which outlasts events;
//   - avoid: it makes Holds of type Avoid for pods that were thrown out by their node, ends them when the cause
//     ends, and deletes Holds of any type whose time is over.
//
// Everything is worked out anew from pods and events, so that it does not matter when it is restarted or
// how many copies run. What it cannot know are pods that others displaced, and that were gone,
// while no copy ran.
//
// Whoever may write events of a namespace may write records there: the role edit may, which may write no Hold, and whose holder
// may know uids of other namespaces. What he writes is believed of his own namespace's pods, which he could delete as well, and of
// nothing else (Of). Who may write events of all namespaces, as kubelets may, is believed of all.
//
// Invariants, each with a test:
//
//   - One: a displaced pod has one record, whoever writes it, and however often.
//   - Ended: no Hold outlasts its cause, as far as the node's object tells.
//   - Own: a record has no effect outside its event's namespace, not even where it names somebody else's uid.
//   - Bounded: no Hold lasts longer than Backoff.Most after the event that it comes of, whatever time that tells.
package displacementrecords
