package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	typedevents "k8s.io/client-go/kubernetes/typed/events/v1"
)

// client is the fake client set, except for pods and nodes, which fakeAPI serves, and for events, which are
// discarded.
type client struct {
	kubernetes.Interface
	api *fakeAPI
}

// coreV1 is the client of the core group.
type coreV1 struct {
	typed.CoreV1Interface
	api *fakeAPI
}

// pods is the client of the pods of fakeAPI.
type pods struct {
	typed.PodInterface
	api *fakeAPI
}

// nodes is the client of the nodes of fakeAPI.
type nodes struct {
	typed.NodeInterface
	api *fakeAPI
}

// eventsV1 is the client of a group whose events are discarded.
type eventsV1 struct{ typedevents.EventsV1Interface }

// noEvents is a client that discards created events.
type noEvents struct{ typedevents.EventInterface }

// stream is a watch of the events in a channel.
type stream chan watch.Event

func (s stream) ResultChan() <-chan watch.Event { return s }

func (s stream) Stop() {}

// IsWatchListSemanticsUnSupported makes reflectors list and then watch.
func (c *client) IsWatchListSemanticsUnSupported() bool { return true }

func (c *client) CoreV1() typed.CoreV1Interface { return coreV1{c.Interface.CoreV1(), c.api} }

func (c *client) EventsV1() typedevents.EventsV1Interface { return eventsV1{c.Interface.EventsV1()} }

func (e eventsV1) Events(namespace string) typedevents.EventInterface {
	return noEvents{e.EventsV1Interface.Events(namespace)}
}

func (noEvents) Create(_ context.Context, e *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	return e, nil
}

func (c coreV1) Pods(namespace string) typed.PodInterface {
	return pods{c.CoreV1Interface.Pods(namespace), c.api}
}

func (c coreV1) Nodes() typed.NodeInterface { return nodes{c.CoreV1Interface.Nodes(), c.api} }

func (n nodes) List(context.Context, metav1.ListOptions) (*corev1.NodeList, error) {
	return n.api.nodes, nil
}

func (n nodes) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return make(stream), nil
}

// failedPodsSelector selects the failed pods, which the informers read separately. No pod
// fails here.
const failedPodsSelector = "status.phase=Failed"

func (p pods) List(_ context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	if o.FieldSelector == failedPodsSelector {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
	}
	return p.api.placed, nil
}

// Watch returns all events to one caller. Objects are not copied.
func (p pods) Watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.FieldSelector == failedPodsSelector {
		return make(stream), nil
	}
	return stream(p.api.events), nil
}

func (p pods) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	p.api.mu.Lock()
	defer p.api.mu.Unlock()
	if tracked := p.api.pods[name]; tracked != nil {
		return tracked.pod, nil
	}
	return nil, podNotFound(name)
}

func (p pods) Bind(_ context.Context, b *corev1.Binding, _ metav1.CreateOptions) error {
	a := p.api
	_, err := a.change(b.Name, func(tracked *trackedPod, pod *corev1.Pod) {
		pod.Spec.NodeName, tracked.node = b.Target.Name, b.Target.Name
		a.bound++
		a.order = append(a.order, b.Name)
		if a.workload.MaxBound > 0 && len(a.order) > a.workload.MaxBound {
			_ = a.remove(a.order[0])
			a.order = a.order[1:]
		}
		a.markFinished(tracked)
	})
	return err
}

func (p pods) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	p.api.mu.Lock()
	defer p.api.mu.Unlock()
	p.api.victims++
	return p.api.remove(name)
}

// Patch supports only patches of the conditions and of the nomination in the status.
func (p pods) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, sub ...string) (*corev1.Pod, error) {
	if len(sub) != 1 || sub[0] != "status" || kind != types.StrategicMergePatchType {
		return nil, fmt.Errorf("pod %s: patch of %v of type %s: must be a strategic merge patch of the status", name, sub, kind)
	}
	var patch struct {
		Status struct {
			NominatedNodeName *string               `json:"nominatedNodeName"`
			Conditions        []corev1.PodCondition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, err
	}
	a := p.api
	return a.change(name, func(tracked *trackedPod, pod *corev1.Pod) {
		if n := patch.Status.NominatedNodeName; n != nil {
			pod.Status.NominatedNodeName = *n
		}
		pod.Status.Conditions = slices.Clone(pod.Status.Conditions)
		for _, c := range patch.Status.Conditions {
			pod.Status.Conditions = append(slices.DeleteFunc(pod.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type }), c)
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				a.markUnschedulable(tracked)
			}
		}
	})
}

// markUnschedulable counts a pod that is reported as unschedulable, at most once. With Workload.CountUnschedulable, it
// also counts the pod as finished.
func (a *fakeAPI) markUnschedulable(tracked *trackedPod) {
	if tracked.index >= 0 && !tracked.unschedulable {
		tracked.unschedulable = true
		a.unschedulable++
	}
	if a.workload.CountUnschedulable {
		a.markFinished(tracked)
	}
}

func (a *fakeAPI) resetCounters() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bound, a.unschedulable, a.victims = 0, 0, 0
}

// finish writes the outcome of the pods into the result.
func (a *fakeAPI) finish(r *Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.Bound, r.Refused, r.Victims = a.bound, a.unschedulable, a.victims
	r.countNodes(a.pods)
}
