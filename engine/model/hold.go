package model

import "time"

// HoldType is the type of a Hold.
type HoldType uint8

// The types. A Reserve Hold reserves capacity on a node for the replacement of a pod that
// is about to be evicted. An Avoid Hold keeps an owner's pods off a node that evicted or
// rejected some of them.
const (
	Reserve HoldType = iota
	Avoid
)

// String returns the name of the type in the API.
func (t HoldType) String() string { return [...]string{"Reserve", "Avoid"}[t] }

// Hold reserves a node for the pods of one owner, or keeps them off it.
type Hold struct {
	Namespace, Name string
	Type            HoldType
	Owner           Owner     // controller of the pods
	Node            string    // name
	Cause           string    // Pressure, Admission, Descheduling, ...
	Count           int32     // number of the owner's pods that were displaced for this cause; at least 1
	Created, Until  time.Time // Until is the expiry
	// Victim is the UID of the evicted pod, VictimName its name.
	Victim, VictimName string
	// Placeholder stands for the reserved capacity of a Reserve Hold: a pod with the requests,
	// labels, priority and owner of the victim, nominated to Node.
	Placeholder     *Pod
	ResourceVersion string
}

// Key returns "namespace/name".
func (h *Hold) Key() string { return h.Namespace + "/" + h.Name }
