package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
)

// evict deletes a pod at once. Its owner may create another one.
func (s *store) evict(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.tracked[name]
	if h == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	s.remove(name)
	s.victims++
	if h.preemptions > 0 {
		s.cascades++
	}
	s.last = time.Now()
	if i := slices.Index(s.order, name); i >= 0 {
		s.order = slices.Delete(s.order, i, i+1)
	}
	if !s.workload.Recreate || h.index < 0 {
		return nil
	}
	s.recreated++
	return s.createPod(h.index, h.preemptions+1, fmt.Sprintf("p-%d-%d", h.index, h.preemptions+1))
}

func (s *store) createPod(index, preemptions int, name string) error {
	pod := &corev1.Pod{}
	if err := s.initPod(pod, s.workload.Pods[index], name); err != nil {
		return err
	}
	s.addPod(pod, index, preemptions)
	return nil
}

func (s *store) addPod(pod *corev1.Pod, index, preemptions int) {
	s.tracked[pod.Name] = &trackedPod{pod: pod, index: index, preemptions: preemptions, finished: preemptions > 0}
	s.pods.events <- watch.Event{Type: watch.Added, Object: pod}
}

// patch applies a strategic merge patch to the fields of a pod's status that the scheduler changes.
func (s *store) patch(name string, data []byte) (*corev1.Pod, error) {
	var change struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(data, &change); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.tracked[name]
	if h == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	pod := *h.pod
	if raw, ok := change.Status["nominatedNodeName"]; ok {
		var node *string
		if err := json.Unmarshal(raw, &node); err != nil {
			return nil, err
		}
		if pod.Status.NominatedNodeName = ""; node != nil {
			pod.Status.NominatedNodeName = *node
		}
	}
	var conditions []corev1.PodCondition
	if raw, ok := change.Status["conditions"]; ok {
		if err := json.Unmarshal(raw, &conditions); err != nil {
			return nil, err
		}
	}
	pod.Status.Conditions = mergeConditions(pod.Status.Conditions, conditions)
	s.update(h, &pod)
	if s.isRefusal(conditions) {
		s.markUnschedulable(h)
	}
	return &pod, nil
}

func mergeConditions(old, changed []corev1.PodCondition) []corev1.PodCondition {
	out := slices.Clone(old)
	for _, c := range changed {
		if i := slices.IndexFunc(out, func(o corev1.PodCondition) bool { return o.Type == c.Type }); i >= 0 {
			out[i] = c
		} else {
			out = append(out, c)
		}
	}
	return out
}

func (s *store) isRefusal(conditions []corev1.PodCondition) bool {
	return slices.ContainsFunc(conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
}

func (s *store) markUnschedulable(h *trackedPod) {
	if h.index >= 0 && !h.refused {
		h.refused = true
		s.refused++
	}
	if s.workload.CountUnschedulable {
		s.markFinished(h)
	}
}
