package main

import (
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Workload is a cluster and the policy for both sides. bench/descheduler of the main
// module has a struct with the same fields.
type Workload struct {
	Name      string
	Nodes     []*corev1.Node
	Templates []*corev1.Pod
	Placed    []Placed
	// Policy is a DeschedulerPolicy, descheduler/v1alpha2.
	Policy json.RawMessage
}

// Placed is a pod of a template on a node. Its name is its index in the list.
type Placed struct {
	Template int
	Node     string
}

// Result is the outcome of one side.
type Result struct {
	CPU, Seconds float64        // of one pass
	Allocs       float64        // of one pass
	PeakRSS      float64        // bytes, of the process
	Evicted      int            // or planned to move
	By           map[string]int // Evicted by strategy
	Refused      int            // candidates that a plan does not move
}

func (w *Workload) write(file string) error {
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o600)
}

func readWorkload(file string) (*Workload, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	w := &Workload{}
	return w, json.Unmarshal(raw, w)
}

// pod makes the pod of one entry. The pod shares the data of its template.
func (w *Workload) pod(i int) *corev1.Pod {
	p := *w.Templates[w.Placed[i].Template]
	p.Name = fmt.Sprintf("p-%06d", i)
	p.UID = types.UID("uid-" + p.Name)
	p.Spec.NodeName = w.Placed[i].Node
	return &p
}
