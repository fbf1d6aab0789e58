package main

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/berthproject/berth/parity/workload"
)

// store holds the pods in place of an API server.
type store struct {
	workload    *workload.Workload
	encoded     [][]byte // of the templates
	pods, nodes *table

	mu       sync.Mutex
	tracked  map[string]*trackedPod // by name
	version  int64
	order    []string // bound pods that arrived, oldest first
	finished int      // pods that were bound or, with CountUnschedulable, found unschedulable
	changed  chan struct{}

	started                                      time.Time
	last                                         time.Time // of the last binding or eviction
	bound, refused, victims, cascades, recreated int
}

// trackedPod is a pod with the data of the measurement.
type trackedPod struct {
	pod         *corev1.Pod
	index       int // in Pods; -1 if it did not arrive
	preemptions int // how often it was a victim, under any name
	finished    bool
	refused     bool
}

func newStore(w *workload.Workload) (*store, error) {
	s := &store{workload: w, tracked: map[string]*trackedPod{}, changed: make(chan struct{}, 1)}
	for _, t := range w.Templates {
		raw, err := t.Marshal()
		if err != nil {
			return nil, err
		}
		s.encoded = append(s.encoded, raw)
	}
	nodes := &corev1.NodeList{}
	nodes.ResourceVersion = "1"
	for _, n := range w.Nodes {
		n.ResourceVersion = "1"
		nodes.Items = append(nodes.Items, *n)
	}
	list := &corev1.PodList{Items: make([]corev1.Pod, len(w.Placed))}
	list.ResourceVersion = "1"
	for i, p := range w.Placed {
		pod := &list.Items[i]
		if err := s.initPod(pod, p.Template, fmt.Sprintf("placed-%d", i)); err != nil {
			return nil, err
		}
		pod.Spec.NodeName, pod.Status.Phase = p.Node, corev1.PodRunning
		s.tracked[pod.Name] = &trackedPod{pod: pod, index: -1}
	}
	s.nodes = &table{list: nodes, events: make(chan watch.Event)}
	s.pods = &table{list: list, events: make(chan watch.Event, 8*len(w.Pods)+2*len(w.Placed)+1000)}
	return s, nil
}

// initPod decodes a new pod from a template.
func (s *store) initPod(pod *corev1.Pod, template int, name string) error {
	if err := pod.Unmarshal(s.encoded[template]); err != nil {
		return err
	}
	s.version++
	workload.SetIdentity(pod, name)
	pod.ResourceVersion = strconv.FormatInt(s.version, 10)
	return nil
}

func (s *store) bind(name, node string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.tracked[name]
	if h == nil || h.pod.Spec.NodeName != "" {
		return apierrors.NewConflict(corev1.Resource("pods"), name, fmt.Errorf("it does not exist or is already bound"))
	}
	pod := *h.pod
	pod.Spec.NodeName = node
	s.update(h, &pod)
	s.bound++
	s.last = time.Now()
	s.order = append(s.order, name)
	if s.workload.MaxBound > 0 && len(s.order) > s.workload.MaxBound {
		s.remove(s.order[0])
		s.order = s.order[1:]
	}
	s.markFinished(h)
	return nil
}

// update replaces a pod with a changed one and sends the event.
func (s *store) update(h *trackedPod, pod *corev1.Pod) {
	s.version++
	pod.ResourceVersion = strconv.FormatInt(s.version, 10)
	h.pod = pod
	s.pods.events <- watch.Event{Type: watch.Modified, Object: pod}
}

func (s *store) remove(name string) {
	s.pods.events <- watch.Event{Type: watch.Deleted, Object: s.tracked[name].pod}
	delete(s.tracked, name)
}

// markFinished counts a pod that was bound or found unschedulable, once.
func (s *store) markFinished(h *trackedPod) {
	if h.index < 0 || h.finished {
		return
	}
	h.finished = true
	s.finished++
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
