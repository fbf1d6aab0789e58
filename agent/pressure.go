package agent

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pressure is who watches a node for what it runs short of: agent/pressure on a real
// node. All methods return at once; Admit is called from the agent's loop.
type Pressure interface {
	// Admit says why the node does not take the pod now; nil: it does.
	Admit(pod *corev1.Pod) *Rejection
	// Conditions are those that it keeps (MemoryPressure, DiskPressure, PIDPressure, OutOfDisk),
	// with reason, message and transition time; the agent adds the heartbeat, and
	// controllers/nodelifecycle the taints, since a node may not touch its own.
	Conditions() []corev1.NodeCondition
}

// ConditionRestorer is a Pressure that goes on where the agent was before it started anew.
type ConditionRestorer interface {
	// RestoreConditions is told once, when the node is registered, what the API has of its conditions.
	RestoreConditions(conditions []corev1.NodeCondition)
}

// EvictionResumer is a Pressure that is told of evictions which an agent before this one has not finished.
type EvictionResumer interface {
	// ResumeEviction says when the grace of a pod ends that has been evicted softly since then, and takes it
	// for dying until done is called.
	ResumeEviction(pod *corev1.Pod, since time.Time) (by time.Time, done func())
}

// Rejection is why a node does not take a pod, as the pod's status says it.
type Rejection struct{ Reason, Message string }

// Eviction asks the agent to end a pod and to have it Failed.
type Eviction struct {
	Pod             types.UID
	Reason, Message string
	Grace           time.Duration
	// Immediate kills all that still runs of it at once, without hooks.
	Immediate bool
	// Condition is written with the failure, such as DisruptionTarget; nil: none. One whose reason is
	// TerminationByKubelet is written at once when there is grace to speak of: from it an agent that starts
	// anew meanwhile sees what it has to finish.
	Condition *corev1.PodCondition
	// Done is called, from the agent's loop, when nothing of the pod runs any more, or
	// there is no such pod. It must return at once; nil: nobody waits.
	Done func()
}

// Evict ends a pod. It may be called from anywhere and returns at once.
func (a *Agent) Evict(e Eviction) { a.evictions.put(e) }

// Pods are the pods of a node that take room on it: neither finished nor rejected, as
// seen last. They must not be changed.
func (a *Agent) Pods(node string) []*corev1.Pod {
	if n := a.nodes[node]; n != nil {
		return n.activePods.list()
	}
	return nil
}

// Report has a node's status written soon, as when its conditions have changed.
func (a *Agent) Report(node string) {
	if n := a.nodes[node]; n != nil {
		select {
		case n.statusChanged <- struct{}{}:
		default:
		}
	}
}

// activePods are the pods of a node for those outside of the loop.
type activePods struct {
	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod
}

func (s *activePods) put(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods == nil {
		s.pods = map[types.UID]*corev1.Pod{}
	}
	s.pods[p.UID] = p
}

func (s *activePods) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, uid)
}

// list is in the order of namespaces and names.
func (s *activePods) list() []*corev1.Pod {
	s.mu.Lock()
	out := make([]*corev1.Pod, 0, len(s.pods))
	for _, p := range s.pods {
		out = append(out, p)
	}
	s.mu.Unlock()
	slices.SortFunc(out, compareByName)
	return out
}
