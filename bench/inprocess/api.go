package main

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// fakeAPI replaces the API server. It has pods, a constant list of nodes, and one watch of pods that passes
// pointers.
type fakeAPI struct {
	workload *Workload
	encoded  [][]byte // of the templates
	nodes    *corev1.NodeList
	events   chan watch.Event
	version  atomic.Int64 // the last resource version

	mu       sync.Mutex
	placed   *corev1.PodList
	pods     map[string]*trackedPod // by name
	order    []string               // bound pods that arrived, oldest first
	finished int                    // arrived pods that were bound or reported
	changed  chan struct{}          // receives a value after finished has changed

	bound, unschedulable, victims int
}

func newFakeAPI(w *Workload) (*fakeAPI, error) {
	a := &fakeAPI{workload: w, pods: map[string]*trackedPod{}, changed: make(chan struct{}, 1), nodes: &corev1.NodeList{}, placed: &corev1.PodList{},
		events: make(chan watch.Event, 8*len(w.Pods)+2*len(w.Placed)+1000)}
	for _, t := range w.Templates {
		raw, err := t.Marshal()
		if err != nil {
			return nil, err
		}
		a.encoded = append(a.encoded, raw)
	}
	a.nodes.ResourceVersion, a.placed.ResourceVersion = "1", "1"
	for _, n := range w.Nodes {
		n.ResourceVersion = "1"
		a.nodes.Items = append(a.nodes.Items, *n)
	}
	a.placed.Items = make([]corev1.Pod, len(w.Placed))
	for i, p := range w.Placed {
		pod := &a.placed.Items[i]
		if err := a.initPod(pod, p.Template, fmt.Sprintf("placed-%d", i)); err != nil {
			return nil, err
		}
		pod.Spec.NodeName, pod.Status.Phase = p.Node, corev1.PodRunning
		a.pods[pod.Name] = &trackedPod{pod: pod, node: p.Node, index: -1}
	}
	return a, nil
}

// initPod decodes a new pod from a template.
func (a *fakeAPI) initPod(pod *corev1.Pod, template int, name string) error {
	if err := pod.Unmarshal(a.encoded[template]); err != nil {
		return err
	}
	pod.Name, pod.UID = name, types.UID(uidPrefix+name)
	pod.CreationTimestamp.Time = time.Now()
	pod.ResourceVersion = a.nextVersion()
	return nil
}

// nextVersion returns a new resource version. It is safe for concurrent use.
func (a *fakeAPI) nextVersion() string {
	return strconv.FormatInt(a.version.Add(1), 10)
}

// prepare returns new pods for the indexes from up to, but not including, to. It adds none to the API.
func (a *fakeAPI) prepare(from, to int) ([]*corev1.Pod, error) {
	pods := make([]*corev1.Pod, 0, to-from)
	for i := from; i < to; i++ {
		pod := &corev1.Pod{}
		if err := a.initPod(pod, a.workload.Pods[i], fmt.Sprintf("p-%d", i)); err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// arrive adds pods, all at once, and blocks until each is bound or reported. from is the index of the first.
func (a *fakeAPI) arrive(pods []*corev1.Pod, from int) error {
	for i, pod := range pods {
		a.mu.Lock()
		a.pods[pod.Name] = &trackedPod{pod: pod, index: from + i}
		a.events <- watch.Event{Type: watch.Added, Object: pod}
		a.mu.Unlock()
	}
	to := from + len(pods)
	const timeout = 2 * time.Minute
	for start := time.Now(); ; {
		a.mu.Lock()
		finished := a.finished
		a.mu.Unlock()
		if finished >= to {
			return nil
		}
		if time.Since(start) > timeout {
			return fmt.Errorf("%d of %d pods are bound or reported after %v", finished, to, timeout)
		}
		select {
		case <-a.changed:
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func podNotFound(name string) error { return apierrors.NewNotFound(corev1.Resource("pods"), name) }

// change replaces a pod with a changed copy and sends the event.
func (a *fakeAPI) change(name string, change func(tracked *trackedPod, p *corev1.Pod)) (*corev1.Pod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	tracked := a.pods[name]
	if tracked == nil {
		return nil, podNotFound(name)
	}
	pod := *tracked.pod
	pod.ResourceVersion = a.nextVersion()
	tracked.pod = &pod
	change(tracked, &pod)
	a.events <- watch.Event{Type: watch.Modified, Object: &pod}
	return &pod, nil
}

// markFinished counts a pod as finished, at most once. The caller holds a.mu.
func (a *fakeAPI) markFinished(tracked *trackedPod) {
	if tracked.index < 0 || tracked.finished {
		return
	}
	tracked.finished = true
	a.finished++
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// remove deletes a pod and sends the event. The caller holds a.mu.
func (a *fakeAPI) remove(name string) error {
	tracked := a.pods[name]
	if tracked == nil {
		return podNotFound(name)
	}
	a.events <- watch.Event{Type: watch.Deleted, Object: tracked.pod}
	delete(a.pods, name)
	return nil
}
