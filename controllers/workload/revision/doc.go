// Package revision maintains the ControllerRevisions of DaemonSets and StatefulSets: an ordered list with one
// revision per template, which kubectl uses to show and undo rollouts.
//
// A template that is used again gets its old revision with a new number. Revisions are matched by
// comparing templates, so revisions that Kubernetes wrote are reused regardless of their hash. The owner's
// collision count distinguishes templates with equal hashes.
package revision
