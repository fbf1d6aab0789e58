package main

import (
	"fmt"
	"slices"

	"github.com/berthproject/berth/parity/workload"
)

// summary is a figure over the rounds: median, minimum and maximum.
type summary struct{ median, low, high float64 }

// summarize summarizes a figure of all results.
func summarize(results []*workload.Result, of func(*workload.Result) float64) summary {
	all := make([]float64, len(results))
	for i, r := range results {
		all[i] = of(r)
	}
	return newSummary(all)
}

func newSummary(all []float64) summary {
	all = slices.Clone(all)
	slices.Sort(all)
	return summary{all[len(all)/2], all[0], all[len(all)-1]}
}

// ratio summarizes the quotients of a figure of a and b, round by round.
func ratio(a, b []*workload.Result, of func(*workload.Result) float64) summary {
	all := make([]float64, len(a))
	for i := range a {
		all[i] = of(a[i]) / of(b[i])
	}
	return newSummary(all)
}

func (s summary) String() string {
	return fmt.Sprintf("%s (%s..%s)", formatFigure(s.median), formatFigure(s.low), formatFigure(s.high))
}

// formatFigure formats a number with three significant digits.
func formatFigure(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// Figures of a result: CPU µs and allocations per pod, pods per second, µs per decision, and peak memory and live
// heap in MiB.
func cpu(r *workload.Result) float64          { return r.CPU / float64(r.Pods) * 1e6 }
func allocs(r *workload.Result) float64       { return r.Allocs / float64(r.Pods) }
func throughput(r *workload.Result) float64   { return float64(r.Pods) / r.Seconds }
func decisionTime(r *workload.Result) float64 { return r.Deciding / max(r.Decisions, 1) * 1e6 }
func peak(r *workload.Result) float64         { return r.PeakRSS / (1 << 20) }
func liveHeap(r *workload.Result) float64     { return r.LiveHeap / (1 << 20) }
