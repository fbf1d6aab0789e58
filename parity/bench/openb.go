package main

import (
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/parity/workload"
)

// openB lets both sides place OpenB's pods with whole devices, which request more GPUs than exist.
func (b *bench) openB() error {
	dir := os.Getenv("BERTH_OPENB")
	if dir == "" {
		fmt.Print("\nOpenB: not measured: BERTH_OPENB is not set to a directory\n\n")
		return nil
	}
	limit := 0
	if b.o.quick {
		limit = 500
	}
	w, err := workload.OpenB(dir, limit)
	if err != nil {
		return err
	}
	sides, err := b.sides(kube, berth)
	if err != nil {
		return err
	}
	results, err := b.alternate(sides, w, 1) // kube-scheduler takes minutes
	if err != nil {
		return err
	}
	requested, capacity := int64(0), int64(0)
	for _, t := range w.Pods {
		requested += gpus(w.Templates[t].Spec.Containers[0].Resources.Requests)
	}
	for _, n := range w.Nodes {
		capacity += gpus(n.Status.Allocatable)
	}
	fmt.Printf("\nOpenB in process: %d nodes, %d pods in batches of %d, %d GPUs requested of %d; evictions immediate, victims arrive again immediately\n\n",
		len(w.Nodes), len(w.Pods), w.Batch, requested, capacity)
	fmt.Println("| | kube-scheduler | berth |\n|---|---|---|")
	unplacedButFeasible := func(r *workload.Result) float64 { return float64(evaluatePlacement(w, r).unplacedButFeasible) }
	rows := []struct {
		name string
		of   func(*workload.Result) float64
	}{
		{"victims", func(r *workload.Result) float64 { return float64(r.Victims) }},
		{"of which were victims before (cascades)", func(r *workload.Result) float64 { return float64(r.Cascades) }},
		{"bindings", func(r *workload.Result) float64 { return float64(r.Bound) }},
		{"attempts", func(r *workload.Result) float64 { return r.Decisions }},
		{"seconds until the last binding or eviction", func(r *workload.Result) float64 { return r.LastChange }},
		{"CPU seconds", func(r *workload.Result) float64 { return r.CPU }},
		{"GPUs in use at the end", func(r *workload.Result) float64 { return float64(evaluatePlacement(w, r).gpus) }},
		{"LS pods placed", func(r *workload.Result) float64 { return float64(evaluatePlacement(w, r).placed[1000]) }},
		{"LS pods pending", func(r *workload.Result) float64 { return float64(evaluatePlacement(w, r).pending[1000]) }},
		{"LS pods pending that would fit without pods of lower priority", unplacedButFeasible},
		{"Burstable and Guaranteed placed", func(r *workload.Result) float64 { return float64(evaluatePlacement(w, r).placed[500]) }},
		{"BE placed", func(r *workload.Result) float64 { return float64(evaluatePlacement(w, r).placed[0]) }},
		{"nodes over capacity", func(r *workload.Result) float64 { return float64(evaluatePlacement(w, r).overcommittedNodes) }},
	}
	for _, row := range rows {
		fmt.Printf("| %s | %v | %v |\n", row.name, formatCount(summarize(results[kube], row.of)), formatCount(summarize(results[berth], row.of)))
	}
	fmt.Println()
	var v verdicts
	unplaced := summarize(results[berth], unplacedButFeasible).high
	v.add(fmt.Sprintf("openb: %.0f LS pods are pending that could be placed, target 0", unplaced), unplaced == 0)
	v.print(b.o)
	return nil
}

// formatCount formats a summary of whole numbers, or of seconds.
func formatCount(s summary) string {
	if s.low == s.high {
		return fmt.Sprintf("%.5g", s.median)
	}
	return fmt.Sprintf("%.5g (%.5g..%.5g)", s.median, s.low, s.high)
}

func gpus(list corev1.ResourceList) int64 {
	q := list[workload.GPU]
	return q.Value()
}

// placementResult summarizes the final placement.
type placementResult struct {
	placed, pending     map[int32]int // by priority
	gpus                int64
	unplacedButFeasible int // pending LS pods that would fit on a node without its pods of lower priority
	overcommittedNodes  int // nodes above their capacity
}

// evaluatePlacement counts a final placement from the objects alone.
func evaluatePlacement(w *workload.Workload, r *workload.Result) placementResult {
	e := placementResult{placed: map[int32]int{}, pending: map[int32]int{}}
	all, high := map[string]amounts{}, map[string]amounts{}
	pendingByTemplate := map[int]int{} // the number of pending LS pods
	for _, f := range r.Final {
		t := w.Pods[f.Pod]
		pod := w.Templates[t]
		priority := *pod.Spec.Priority
		if f.Node == "" {
			e.pending[priority]++
			if priority == 1000 {
				pendingByTemplate[t]++
			}
			continue
		}
		e.placed[priority]++
		requests := amountsOf(pod.Spec.Containers[0].Resources.Requests)
		requests[3] = 1
		e.gpus += requests[2]
		all[f.Node] = all[f.Node].plus(requests)
		if priority == 1000 {
			high[f.Node] = high[f.Node].plus(requests)
		}
	}
	for t, pending := range pendingByTemplate {
		requests := amountsOf(w.Templates[t].Spec.Containers[0].Resources.Requests)
		requests[3] = 1
		for _, n := range w.Nodes {
			if matchesNodeAffinity(w.Templates[t], n) && high[n.Name].plus(requests).within(amountsOf(n.Status.Allocatable)) {
				e.unplacedButFeasible += pending
				break
			}
		}
	}
	for _, n := range w.Nodes {
		if !all[n.Name].within(amountsOf(n.Status.Allocatable)) {
			e.overcommittedNodes++
		}
	}
	return e
}

// amounts are CPU in millicores, memory in bytes, GPUs and pods.
type amounts [4]int64

func amountsOf(list corev1.ResourceList) amounts {
	return amounts{list.Cpu().MilliValue(), list.Memory().Value(), gpus(list), list.Pods().Value()}
}

func (a amounts) plus(b amounts) amounts {
	for i := range a {
		a[i] += b[i]
	}
	return a
}

func (a amounts) within(limit amounts) bool {
	for i := range a {
		if a[i] > limit[i] {
			return false
		}
	}
	return true
}

// matchesNodeAffinity reports whether a node has the labels that a pod requires.
func matchesNodeAffinity(pod *corev1.Pod, node *corev1.Node) bool {
	if pod.Spec.Affinity == nil {
		return true
	}
	for _, e := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions {
		for _, value := range e.Values {
			if node.Labels[e.Key] == value {
				return true
			}
		}
	}
	return false
}
