// Package revision keeps the ControllerRevisions of DaemonSets and StatefulSets: one for each template
// that they had, in order, so that kubectl can tell and undo.
//
// A template that comes back gets its old revision, with a new number. Which revision a template is told by
// comparing templates, so revisions that Kubernetes wrote are taken over, whatever their hash. Two
// templates of one hash are told apart by the owner's collision count.
package revision
