package main

import (
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Workload is the work to do. parity/descheduler documents its fields.
type Workload struct {
	Name      string
	Nodes     []*corev1.Node
	Templates []*corev1.Pod
	Placed    []struct {
		Template int
		Node     string
	}
	Policy json.RawMessage
}

// Result is the measurement. parity/descheduler documents its fields.
type Result struct {
	CPU, Seconds float64
	Allocs       float64
	PeakRSS      float64
	Evicted      int
	By           map[string]int
	Refused      int
}

func readWorkload(file string) (*Workload, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("usage: descheduler FILE (a workload of parity/descheduler): %w", err)
	}
	w := &Workload{}
	return w, json.Unmarshal(raw, w)
}

// pod returns the bound pod with index i.
func (w *Workload) pod(i int) *corev1.Pod {
	p := *w.Templates[w.Placed[i].Template]
	p.Name = fmt.Sprintf("p-%06d", i)
	p.UID = types.UID("uid-" + p.Name)
	p.Spec.NodeName = w.Placed[i].Node
	return &p
}
