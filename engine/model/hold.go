package model

import "time"

// HoldType is what a Hold does.
type HoldType uint8

// The types. Reserve keeps room on a node for the replacement of a pod that is to
// leave; Avoid keeps an owner's pods off a node that they were thrown out of.
const (
	Reserve HoldType = iota
	Avoid
)

// String is the type's name in the API.
func (t HoldType) String() string { return [...]string{"Reserve", "Avoid"}[t] }

// Hold is a node held for, or against, the pods of one owner of its namespace.
type Hold struct {
	Namespace, Name string
	Type            HoldType
	Owner           Owner  // controller of the pods that it is about
	Node            string // name
	Cause           string // why: pressure, admission, rebalance, ...
	Count           int32  // how many pods of the owner went for this cause; 1 at least
	Created, Until  time.Time
	// Victim is the uid of the pod that left or is to leave, VictimName its name.
	Victim, VictimName string
	// Placeholder is, for Reserve, the pod that keeps the room: it has what the victim
	// asked for, its labels, priority and owner, and is nominated to Node.
	Placeholder     *Pod
	ResourceVersion string
}

// Key is "namespace/name".
func (h *Hold) Key() string { return h.Namespace + "/" + h.Name }
