package workload

import "time"

// Status is a condition's.
type Status string

// The statuses of conditions.
const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// Condition is one of a workload's status.
type Condition struct {
	Type            string
	Status          Status
	Reason, Message string
	Updated         time.Time // when it was written last, for kinds that keep that
	Changed         time.Time // when Status became what it is
}

// Conditions are those of one object, in its order.
type Conditions []Condition

// Get finds a condition; nil if there is none.
func (c Conditions) Get(kind string) *Condition {
	for i := range c {
		if c[i].Type == kind {
			return &c[i]
		}
	}
	return nil
}

// With is c with one condition set, at now. Of one that has the same status and reason nothing
// changes, not even the message; one of the same status keeps its time of change. The one that is set comes last, as in Kubernetes.
func (c Conditions) With(now time.Time, n Condition) Conditions {
	n.Updated, n.Changed = now, now
	if old := c.Get(n.Type); old != nil {
		if old.Status == n.Status && old.Reason == n.Reason {
			return c
		}
		if old.Status == n.Status {
			n.Changed = old.Changed
		}
	}
	return append(c.Without(n.Type), n)
}

// Without is c without the conditions of a type.
func (c Conditions) Without(kind string) Conditions {
	out := make(Conditions, 0, len(c)+1)
	for i := range c {
		if c[i].Type != kind {
			out = append(out, c[i])
		}
	}
	return out
}

// earliest is the earlier of two times of which zero means never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
