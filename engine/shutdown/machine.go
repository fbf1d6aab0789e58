package shutdown

import (
	"cmp"
	"slices"
	"time"

	"github.com/berthproject/berth/engine/model"
)

// Class sets the grace period of the pods whose priority is at least Priority and below that of the next class. Pods
// below all classes belong to the lowest one.
type Class struct {
	Priority int32
	Grace    time.Duration
}

// DefaultClasses returns the two classes of a shutdown without configured classes. The last part of the total time, of
// duration critical, is reserved for critical pods.
func DefaultClasses(total, critical time.Duration) []Class {
	return []Class{{0, max(total-critical, 0)}, {model.SystemCriticalPriority, critical}}
}

// Pod is a pod that runs when the shutdown begins.
type Pod struct {
	UID      string
	Priority int32
	Grace    time.Duration // grace period of its specification
}

// Stop requests the termination of a pod.
type Stop struct {
	Pod   string // UID
	Grace time.Duration
}

// Machine orders the shutdown of one node. Create it with New.
type Machine struct {
	groups        []group
	groupDeadline time.Time // end of the first group's time; zero: not started
}

// group is the pods of a class.
type group struct {
	grace   time.Duration
	pods    []Pod
	running map[string]bool // pods that have not terminated
}

// sortedClasses returns classes by ascending priority, or one class without time.
func sortedClasses(classes []Class) []Class {
	if len(classes) == 0 {
		return []Class{{}}
	}
	classes = slices.Clone(classes)
	slices.SortStableFunc(classes, func(a, b Class) int { return cmp.Compare(a.Priority, b.Priority) })
	return classes
}

// classIndex returns the index of a priority's class in sorted classes.
func classIndex(classes []Class, priority int32) (index int) {
	for i, c := range classes {
		if c.Priority <= priority {
			index = i
		}
	}
	return index
}

// Grace returns the time that a pod has to terminate. classes can be in any order.
func Grace(classes []Class, p Pod) time.Duration {
	classes = sortedClasses(classes)
	return min(p.Grace, classes[classIndex(classes, p.Priority)].Grace)
}

// New returns a shutdown of the pods. classes can be in any order.
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

// Step records the pods that have terminated and returns the pods to stop now. wake is the latest
// time of the next call. done reports that all pods have terminated or all time is up.
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
