package main

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/parity/work"
)

// span is a figure over the rounds: the middle one, the least and the most.
type span struct{ mid, low, high float64 }

// over is the span of what of gives for each result.
func over(results []*work.Result, of func(*work.Result) float64) span {
	all := make([]float64, len(results))
	for i, r := range results {
		all[i] = of(r)
	}
	return spanOf(all)
}

func spanOf(all []float64) span {
	all = slices.Clone(all)
	slices.Sort(all)
	return span{all[len(all)/2], all[0], all[len(all)-1]}
}

// ratio is how many times more the first side takes, round by round.
func ratio(a, b []*work.Result, of func(*work.Result) float64) span {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = of(a[i]) / of(b[i])
	}
	return spanOf(all)
}

func (s span) String() string {
	return fmt.Sprintf("%s (%s..%s)", short(s.mid), short(s.low), short(s.high))
}

// short is a number with three figures.
func short(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// What is asked of a result, a pod or a decision each.
func cpu(r *work.Result) float64    { return r.CPU / float64(r.Pods) * 1e6 }
func allocs(r *work.Result) float64 { return r.Allocs / float64(r.Pods) }
func speed(r *work.Result) float64  { return float64(r.Pods) / r.Seconds }
func decide(r *work.Result) float64 { return r.Deciding / max(r.Decisions, 1) * 1e6 }
func peak(r *work.Result) float64   { return r.PeakRSS / (1 << 20) }
func live(r *work.Result) float64   { return r.LiveHeap / (1 << 20) }
