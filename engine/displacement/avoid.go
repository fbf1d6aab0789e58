package displacement

import (
	"cmp"
	"slices"
	"time"
)

// Eviction is a pod of an owner that was thrown out of a node.
type Eviction struct {
	UID     string
	Cause   Cause
	Created time.Time // of the pod
	At      time.Time // when it was thrown out
}

// Backoff is how long an owner's pods stay off a node that threw them out: First, doubled each time that
// one which came after the last time is thrown out for the same cause, up to Most. When that
// has not happened until Most after the end of the last time, it begins with First again.
type Backoff struct {
	First, Max time.Duration
}

// Avoidance is what comes of pods that were thrown out.
type Avoidance struct {
	Cause Cause
	Count int32     // how many times
	Since time.Time // when the last time was
	Until time.Time
	UID   string // of the pod of the last time
}

// Avoid is how long the pods of an owner stay off a node, given those that were thrown out of it, in whatever
// order and for whatever causes: what the cause says that keeps them off longest. Pods that went
// together, or that were there already when the last one went, are one time. False: nothing keeps
// them off, ever.
func (b Backoff) Avoid(list []Eviction) (Avoidance, bool) {
	byCause := [numCauses][]Eviction{}
	for _, t := range list {
		if t.Cause.Avoids() {
			byCause[t.Cause] = append(byCause[t.Cause], t)
		}
	}
	var out Avoidance
	for _, of := range byCause {
		if a, ok := b.series(of); ok && a.Until.After(out.Until) {
			out = a
		}
	}
	return out, out.Count > 0
}

// series is what comes of pods that were thrown out for one cause.
func (b Backoff) series(list []Eviction) (Avoidance, bool) {
	list = slices.Clone(list)
	slices.SortFunc(list, func(x, y Eviction) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.UID, y.UID)) })
	var a Avoidance
	for _, t := range list {
		switch {
		case a.Count > 0 && t.Created.Before(a.Since):
			continue // it was there the last time
		case a.Count > 0 && t.At.After(a.Until.Add(b.Max)):
			a.Count = 0
		}
		a.Count++
		a.Cause, a.Since, a.UID = t.Cause, t.At, t.UID
		a.Until = t.At.Add(b.delay(a.Count))
	}
	return a, a.Count > 0
}

// delay is the nth one, from 1.
func (b Backoff) delay(n int32) time.Duration {
	d := b.First
	for ; n > 1 && d < b.Max; n-- {
		d *= 2
	}
	return min(d, b.Max)
}
