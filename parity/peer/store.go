package main

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/berthproject/berth/parity/work"
)

// store holds the pods, in place of an API server.
type store struct {
	w           *work.Work
	encoded     [][]byte // the templates
	pods, nodes *table

	mu       sync.Mutex
	held     map[string]*held // by name
	version  int64
	order    []string // bound pods that arrived, the oldest first
	answered int      // pods that have been bound or, if that counts, refused
	changed  chan struct{}

	began                                    time.Time
	last                                     time.Time // change
	bound, refused, victims, cascades, again int
}

// held is a pod with what the measurement knows of it.
type held struct {
	pod      *corev1.Pod
	index    int // in Pods; -1: it did not arrive
	fell     int // how often it was a victim, under other names
	answered bool
	refused  bool
}

func newStore(w *work.Work) (*store, error) {
	s := &store{w: w, held: map[string]*held{}, changed: make(chan struct{}, 1)}
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
		if err := s.make(pod, p.Template, fmt.Sprintf("placed-%d", i)); err != nil {
			return nil, err
		}
		pod.Spec.NodeName, pod.Status.Phase = p.Node, corev1.PodRunning
		s.held[pod.Name] = &held{pod: pod, index: -1}
	}
	s.nodes = &table{list: nodes, events: make(chan watch.Event)}
	s.pods = &table{list: list, events: make(chan watch.Event, 8*len(w.Pods)+2*len(w.Placed)+1000)}
	return s, nil
}

// make decodes a pod of its own from a template.
func (s *store) make(pod *corev1.Pod, template int, name string) error {
	if err := pod.Unmarshal(s.encoded[template]); err != nil {
		return err
	}
	s.version++
	work.Name(pod, name)
	pod.ResourceVersion = strconv.FormatInt(s.version, 10)
	return nil
}

// bind is a granted binding.
func (s *store) bind(name, node string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[name]
	if h == nil || h.pod.Spec.NodeName != "" {
		return apierrors.NewConflict(corev1.Resource("pods"), name, fmt.Errorf("gone, or bound before"))
	}
	pod := *h.pod
	pod.Spec.NodeName = node
	s.update(h, &pod)
	s.bound++
	s.last = time.Now()
	s.order = append(s.order, name)
	if s.w.Hold > 0 && len(s.order) > s.w.Hold {
		s.remove(s.order[0])
		s.order = s.order[1:]
	}
	s.answer(h)
	return nil
}

// update puts a changed pod in place of an old one and lets it be seen.
func (s *store) update(h *held, pod *corev1.Pod) {
	s.version++
	pod.ResourceVersion = strconv.FormatInt(s.version, 10)
	h.pod = pod
	s.pods.events <- watch.Event{Type: watch.Modified, Object: pod}
}

func (s *store) remove(name string) {
	s.pods.events <- watch.Event{Type: watch.Deleted, Object: s.held[name].pod}
	delete(s.held, name)
}

// answer counts a pod once.
func (s *store) answer(h *held) {
	if h.index < 0 || h.answered {
		return
	}
	h.answered = true
	s.answered++
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
