package workload

import "time"

// Status is the status of a condition.
type Status string

// The statuses.
const (
	True    Status = "True"
	False   Status = "False"
	Unknown Status = "Unknown"
)

// Condition is a condition of a workload's status.
type Condition struct {
	Type            string
	Status          Status
	Reason, Message string
	Updated         time.Time // last write, for kinds that store it
	Changed         time.Time // last transition of Status
}

// Conditions are the conditions of one object, in its order.
type Conditions []Condition

// Get returns the condition of a type, or nil.
func (c Conditions) Get(kind string) *Condition {
	for i := range c {
		if c[i].Type == kind {
			return &c[i]
		}
	}
	return nil
}

// With returns c with one condition set at now. If status and reason are equal, c is unchanged,
// including the message. If only the status is equal, the transition time stays. As upstream, the
// condition moves to the end.
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

// Without returns c without the conditions of a type.
func (c Conditions) Without(kind string) Conditions {
	out := make(Conditions, 0, len(c)+1)
	for i := range c {
		if c[i].Type != kind {
			out = append(out, c[i])
		}
	}
	return out
}
