package agent

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PressureManager manages node pressure; agent/pressure implements it for real nodes. Methods must not
// block. The agent calls Admit from its loop.
type PressureManager interface {
	// Admit returns why the node rejects the pod now, nil if it does not.
	Admit(pod *corev1.Pod) *Rejection
	// Conditions returns MemoryPressure, DiskPressure, PIDPressure and OutOfDisk as far as they
	// apply, with reason, message and transition time. The agent adds the heartbeat time.
	// controllers/nodelifecycle adds the taints, because a node may not change its own.
	Conditions() []corev1.NodeCondition
}

// ConditionRestorer is a PressureManager that continues from the conditions of a previous agent.
type ConditionRestorer interface {
	// RestoreConditions restores the conditions that the node has in the API. The agent calls it once. If the node
	// exists at the start, the call precedes the admission of the pods in the API, but not that of static pods.
	RestoreConditions(conditions []corev1.NodeCondition)
}

// EvictionResumer is a PressureManager that continues evictions begun by a previous agent.
type EvictionResumer interface {
	// ResumeEviction returns the end of the grace period of a pod whose soft eviction began at
	// since. The pod counts as terminating until done is called.
	ResumeEviction(pod *corev1.Pod, since time.Time) (deadline time.Time, done func())
}

// Rejection is the reason and message in the status of a pod that failed admission.
type Rejection struct{ Reason, Message string }

// Eviction is a request to end a pod and set it to Failed.
type Eviction struct {
	Pod             types.UID
	Reason, Message string
	Grace           time.Duration
	// Immediate kills all containers without hooks or grace.
	Immediate bool
	// Condition, if not nil, is written with the failure. The agent writes it at the start of a termination with the
	// reason TerminationByKubelet. It does not if the eviction is immediate or has a grace period of at most 1 s. A
	// restarted agent can then resume the eviction.
	Condition *corev1.PodCondition
	// UntilReleased means that the pod counts as terminating until the runtime has released its volumes and sandbox. A tmpfs
	// keeps its memory when no process of the pod exists.
	UntilReleased bool
	// Done, if not nil, is called from the agent's loop when the pod has terminated (with UntilReleased: is released), or if
	// it does not exist. It must not block.
	Done func()
}

// Evict ends a pod. It may be called from any goroutine and does not block.
func (a *Agent) Evict(e Eviction) { a.inbox.post(func() { a.evict(e) }) }

// Pods returns the pods that hold resources on the node, as last observed. Callers must not modify
// them.
func (a *Agent) Pods(node string) []*corev1.Pod {
	if n := a.nodes[node]; n != nil {
		return n.activePods.list()
	}
	return nil
}

// Report requests a write of the node status, for example after its conditions changed. Before the start it does nothing,
// because the agent then writes the status anyway.
func (a *Agent) Report(node string) {
	if n := a.nodes[node]; n != nil && a.started.Load() {
		n.status.Trigger()
	}
}

// activePods is the list of pods that goroutines other than the loop read.
type activePods struct {
	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
}

func (a *activePods) put(p *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pods == nil {
		a.pods = map[types.UID]*corev1.Pod{}
	}
	a.pods[p.UID] = p
}

func (a *activePods) remove(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, uid)
}

// list returns the pods ordered by namespace and name.
func (a *activePods) list() []*corev1.Pod {
	a.mu.Lock()
	out := make([]*corev1.Pod, 0, len(a.pods))
	for _, p := range a.pods {
		out = append(out, p)
	}
	a.mu.Unlock()
	slices.SortFunc(out, compareByName)
	return out
}
