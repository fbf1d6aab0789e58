package main

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// expectation is what a cycle may do. conformance/testdata/descheduler describes the
// fields.
type expectation struct {
	PolicyError  string            `json:"policyError,omitempty"`
	ProfileError string            `json:"profileError,omitempty"`
	Evicted      []string          `json:"evicted,omitempty"`
	Ordered      bool              `json:"ordered,omitempty"`
	Maybe        []string          `json:"maybe,omitempty"`
	Count        *bounds           `json:"count,omitempty"`
	PerNode      map[string]bounds `json:"perNode,omitempty"`
	PerOwner     map[string]bounds `json:"perOwner,omitempty"`
	Attempted    []string          `json:"attemptedBlocked,omitempty"`
}

type bounds struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// summarize fills in the results that all runs have in common, and the bounds of those that vary.
func (e *expectation) summarize(cycles []cycle, pods map[string]*corev1.Pod) {
	times, refused := map[string]int{}, map[string]int{}
	e.Count = &bounds{Min: len(cycles[0].evicted)}
	e.Ordered = len(cycles[0].evicted) > 1
	for _, c := range cycles {
		for _, key := range c.evicted {
			times[key]++
		}
		for _, key := range slices.Compact(sorted(c.refused)) {
			refused[key]++
		}
		e.Count.add(len(c.evicted))
		e.Ordered = e.Ordered && slices.Equal(c.evicted, cycles[0].evicted)
	}
	e.Evicted, e.Maybe = split(times, len(cycles))
	e.Attempted, _ = split(refused, len(cycles))
	if e.Ordered {
		e.Evicted = cycles[0].evicted
	}
	if len(e.Maybe) > 0 {
		e.PerNode = varyingBounds(cycles, func(key string) string { return pods[key].Spec.NodeName })
		e.PerOwner = varyingBounds(cycles, func(key string) string { return ownerOf(pods[key]) })
	}
}

// split divides keys into those that occurred in all runs and those that occurred in some.
func split(times map[string]int, runs int) (always, sometimes []string) {
	for _, key := range slices.Sorted(maps.Keys(times)) {
		if times[key] == runs {
			always = append(always, key)
		} else {
			sometimes = append(sometimes, key)
		}
	}
	return always, sometimes
}

// varyingBounds returns the bounds of the number of evicted pods of each group.
func varyingBounds(cycles []cycle, group func(key string) string) map[string]bounds {
	counts := make([]map[string]int, len(cycles))
	out := map[string]bounds{}
	for i, c := range cycles {
		counts[i] = map[string]int{}
		for _, key := range c.evicted {
			counts[i][group(key)]++
			out[group(key)] = bounds{Min: len(c.evicted)}
		}
	}
	for k, b := range out {
		for _, n := range counts {
			b.add(n[k])
		}
		out[k] = b
	}
	return out
}

func (b *bounds) add(n int) { b.Min, b.Max = min(b.Min, n), max(b.Max, n) }

// ownerOf returns namespace/kind/name of the first owner of a pod.
func ownerOf(p *corev1.Pod) string {
	if len(p.OwnerReferences) == 0 {
		return p.Namespace + "//" + p.Name
	}
	return p.Namespace + "/" + p.OwnerReferences[0].Kind + "/" + p.OwnerReferences[0].Name
}

func sorted(keys []string) []string {
	out := slices.Clone(keys)
	slices.Sort(out)
	return out
}
