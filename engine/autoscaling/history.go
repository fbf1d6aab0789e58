package autoscaling

import (
	"slices"
	"time"
)

// History holds the recommendations and changes of an autoscaler that Step reads. The zero value
// is empty.
type History struct {
	recommendations      []entry
	scaleUps, scaleDowns []entry // changes of the number of replicas
}

// entry is a recommended number of replicas, or the size of a change.
type entry struct {
	at       time.Time
	replicas int32
}

func (h *History) recommend(now time.Time, replicas int32) {
	h.recommendations = append(h.recommendations, entry{now, replicas})
}

// Scaled records that the number of replicas was changed.
func (h *History) Scaled(now time.Time, from, to int32) {
	switch {
	case to > from:
		h.scaleUps = append(h.scaleUps, entry{now, to - from})
	case to < from:
		h.scaleDowns = append(h.scaleDowns, entry{now, from - to})
	}
}

// prune drops the entries that no window or period covers.
func (h *History) prune(now time.Time, a Autoscaler) {
	window, period := DownWindow, time.Duration(0)
	if b := a.Behavior; b != nil {
		window = max(b.Up.Window, b.Down.Window)
		for _, p := range slices.Concat(b.Up.Policies, b.Down.Policies) {
			period = max(period, p.Period)
		}
	}
	h.recommendations = entriesAfter(h.recommendations, now.Add(-window))
	h.scaleUps, h.scaleDowns = entriesAfter(h.scaleUps, now.Add(-period)), entriesAfter(h.scaleDowns, now.Add(-period))
}

// entriesAfter drops the entries up to and including t.
func entriesAfter(entries []entry, t time.Time) []entry {
	return slices.DeleteFunc(entries, func(e entry) bool { return !e.at.After(t) })
}

// sumChanges returns the sum of the changes after t.
func sumChanges(entries []entry, t time.Time) int32 {
	var sum int32
	for _, e := range entries {
		if e.at.After(t) {
			sum += e.replicas
		}
	}
	return sum
}
