package shutdown

import (
	"cmp"
	"slices"
	"time"
)

// Class is how long pods have of at least a priority.
type Class struct {
	Priority int32
	Grace    time.Duration
}

// CriticalPriority is that of system-cluster-critical.
const CriticalPriority = 2_000_000_000

// DefaultClasses are the two by which a node is shut down without a list of them: the end of the total time is
// for critical pods alone.
func DefaultClasses(total, critical time.Duration) []Class {
	return []Class{{0, max(total-critical, 0)}, {CriticalPriority, critical}}
}

// Pod is one that runs when the shutdown begins.
type Pod struct {
	UID      string
	Priority int32
	Grace    time.Duration // what it asks for
}

// Stop asks for the end of a pod.
type Stop struct {
	Pod   string
	Grace time.Duration
}

// Machine is one shutdown of one node. Make it with New.
type Machine struct {
	groups        []group
	groupDeadline time.Time // when the first group's time is over; zero: it has not begun
}

// group are the pods of a class.
type group struct {
	grace   time.Duration
	pods    []Pod
	running map[string]bool // those that have not ended
}

// sortedClasses are classes by ascending priority; without any, one that has no time.
func sortedClasses(classes []Class) []Class {
	if len(classes) == 0 {
		return []Class{{}}
	}
	classes = slices.Clone(classes)
	slices.SortStableFunc(classes, func(a, b Class) int { return cmp.Compare(a.Priority, b.Priority) })
	return classes
}

// classIndex is the index of a priority's class among sorted ones.
func classIndex(classes []Class, priority int32) (at int) {
	for i, c := range classes {
		if c.Priority <= priority {
			at = i
		}
	}
	return at
}

// Grace is how long a pod has from when it is stopped, by these classes in any order.
func Grace(classes []Class, p Pod) time.Duration {
	classes = sortedClasses(classes)
	return min(p.Grace, classes[classIndex(classes, p.Priority)].Grace)
}

// New is a shutdown of these pods by these classes, in any order.
func New(classes []Class, pods []Pod) *Machine {
	classes = sortedClasses(classes)
	m := &Machine{groups: make([]group, len(classes))}
	for i, c := range classes {
		m.groups[i] = group{grace: c.Grace, running: map[string]bool{}}
	}
	for _, p := range pods {
		g := &m.groups[classIndex(classes, p.Priority)]
		g.pods = append(g.pods, p)
		g.running[p.UID] = true
	}
	return m
}

// Step takes in which pods have ended and answers which ones to stop now. wake is when to
// call again if nothing happens before; done says that no pod is left, or none has time.
func (m *Machine) Step(now time.Time, ended ...string) (stops []Stop, wake time.Time, done bool) {
	for i := range m.groups {
		for _, uid := range ended {
			delete(m.groups[i].running, uid)
		}
	}
	for len(m.groups) > 0 {
		g := &m.groups[0]
		if m.groupDeadline.IsZero() && len(g.running) > 0 {
			m.groupDeadline = now.Add(g.grace)
			for _, p := range g.pods {
				if g.running[p.UID] {
					stops = append(stops, Stop{p.UID, min(p.Grace, g.grace)})
				}
			}
		}
		if len(g.running) > 0 && now.Before(m.groupDeadline) {
			return stops, m.groupDeadline, false
		}
		m.groups, m.groupDeadline = m.groups[1:], time.Time{}
	}
	return stops, time.Time{}, true
}
