package main

import (
	"encoding/json"
	"os"

	corev1 "k8s.io/api/core/v1"
)

// Workload is the input of the machine. parity/workload documents its fields.
type Workload struct {
	Name      string
	Nodes     []*corev1.Node
	Services  []*corev1.Service
	Templates []*corev1.Pod
	Placed    []struct {
		Template int
		Node     string
	}
	Pods               []int
	Warm               int
	MaxBound           int
	Settle             float64
	Batch              int
	Recreate           bool
	CountUnschedulable bool
	OnDemand           bool
}

// Result is the measurement. parity/workload documents its fields.
type Result struct {
	Pods                                           int
	Seconds, CPU, Allocs, Bytes, PeakRSS, LiveHeap float64
	Decisions, Deciding                            float64
	Bound, Refused, Victims, Cascades              int
	LastChange                                     float64
	NodesUsed, MostOnOne                           int
	Final                                          []Final `json:",omitempty"`
}

// Final is the node of a pod at the end.
type Final struct {
	Pod  int
	Node string
}

func readWorkload(file string) (*Workload, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	w := &Workload{}
	return w, json.Unmarshal(raw, w)
}
