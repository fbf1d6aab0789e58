package displacement

import (
	"cmp"
	"slices"
	"time"
)

// Eviction is the displacement of one pod of an owner from a node.
type Eviction struct {
	UID     string
	Cause   Cause
	Created time.Time // when the pod was created
	At      time.Time // when it was displaced
}

// Backoff determines how long an owner's pods avoid a node that displaced them: First, doubled up
// to Max each time a pod that was created after the last displacement is displaced for the same
// cause. It starts over if no displacement follows for Max after the end of the last backoff.
type Backoff struct {
	First, Max time.Duration
}

// Avoidance is the result of Backoff.Avoid.
type Avoidance struct {
	Cause Cause
	Count int32     // number of displacements
	Since time.Time // time of the last one
	Until time.Time
	UID   string // pod of the last one
}

// Avoid returns the time until which an owner's pods avoid a node, given their displacements from it in any
// order. It is the longest backoff of any cause. Pods that existed before the last displacement count as
// one with it. It returns false if the pods need not avoid the node.
func (b Backoff) Avoid(list []Eviction) (Avoidance, bool) {
	byCause := [numCauses][]Eviction{}
	for _, t := range list {
		if t.Cause.Avoids() {
			byCause[t.Cause] = append(byCause[t.Cause], t)
		}
	}
	var out Avoidance
	for _, evictions := range byCause {
		if a, ok := b.series(evictions); ok && a.Until.After(out.Until) {
			out = a
		}
	}
	return out, out.Count > 0
}

// series returns the backoff for the displacements of one cause.
func (b Backoff) series(list []Eviction) (Avoidance, bool) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(x, y Eviction) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.UID, y.UID)) })
	var a Avoidance
	for _, t := range list {
		switch {
		case a.Count > 0 && t.Created.Before(a.Since):
			continue // the pod existed at the last displacement
		case a.Count > 0 && t.At.After(a.Until.Add(b.Max)):
			a.Count = 0
		}
		a.Count++
		a.Cause, a.Since, a.UID = t.Cause, t.At, t.UID
		a.Until = t.At.Add(b.delay(a.Count))
	}
	return a, a.Count > 0
}

// delay returns the nth delay, from 1.
func (b Backoff) delay(n int32) time.Duration {
	d := b.First
	for ; n > 1 && d < b.Max; n-- {
		d *= 2
	}
	return min(d, b.Max)
}
