package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// summary is the median, minimum and maximum over the rounds.
type summary struct{ median, low, high float64 }

func summarize(results []*Result, of func(*Result) float64) summary {
	var all []float64
	for _, r := range results {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return summary{all[len(all)/2], all[0], all[len(all)-1]}
}

func (s summary) String() string {
	if s.low == s.high {
		return fmt.Sprintf("%.3g", s.median)
	}
	return fmt.Sprintf("%.3g (%.3g to %.3g)", s.median, s.low, s.high)
}

func cpu(r *Result) float64 { return r.CPU }

func (b *bench) printRow(s workloadKind, w *Workload, results map[string][]*Result) {
	peer, berth, plan := results[upstream], results[compatible], results[planned]
	each := func(of func(*Result) float64) string {
		return fmt.Sprintf("%.3g / %.3g / %.3g", summarize(peer, of).median, summarize(berth, of).median, summarize(plan, of).median)
	}
	target := "-"
	if s.target > 0 {
		target = fmt.Sprintf("%.3g", s.target)
	}
	fmt.Printf("| %s | %d | %d | %v | %v | **%.3g** | %s | %v | **%.3g** | %d / %d / %d (%d) | %s | %s |\n", s.name, len(w.Nodes), len(w.Placed),
		summarize(peer, cpu), summarize(berth, cpu), summarize(peer, cpu).median/summarize(berth, cpu).median, target, summarize(plan, cpu), summarize(peer, cpu).median/summarize(plan, cpu).median,
		peer[0].Evicted, berth[0].Evicted, plan[0].Evicted, plan[0].Refused,
		each(func(r *Result) float64 { return r.Allocs }), each(func(r *Result) float64 { return r.PeakRSS / (1 << 20) }))
	if len(berth[0].By) < 2 {
		return
	}
	fmt.Printf("\nby strategy, descheduler / compatible / planned: ")
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(berth[0].By)) {
		parts = append(parts, fmt.Sprintf("%s %d / %d / %d", name, peer[0].By[name], berth[0].By[name], plan[0].By[name]))
	}
	fmt.Println(strings.Join(parts, "; "))
}
