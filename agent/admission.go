package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/internal/conversion"
)

// admit takes a new pod, refuses it, or holds it until there is room for it or the node is
// known as it is now: nobody is denied a place by what is old. Who put the pod here does not matter: the scheduler, or somebody past it.
func (a *Agent) admit(p *pod) {
	a.admitWithNode(p, false)
}

// admitWithNode is judge; fresh says that the node has just been looked at.
func (a *Agent) admitWithNode(p *pod, fresh bool) {
	if r := a.runAdmitHandlers(p); r != nil {
		a.rejectPod(p, r)
		return
	}
	denials := a.checkPlacement(p)
	switch {
	case len(denials) == 0:
	case !fresh:
		// A label may have come just now, or a pod may have gone of which the watch tells later.
		p.blocked, p.admissionPending = true, true
		a.readNode(p)
		return
	default:
		victims, ok := a.findVictims(p, denials)
		if !ok {
			a.rejectPod(p, rejectionFor(p, denials))
			return
		}
		if len(victims) > 0 {
			a.reserveResources(p) // nobody else is to take the room
			a.preempt(p, victims, denials)
			return
		}
	}
	a.reserveResources(p)
	a.waitForClaims(p)
}

// runAdmitHandlers asks all but the rules of placement why the node does not take a pod.
func (a *Agent) runAdmitHandlers(p *pod) *Rejection {
	if w := p.node.pressure; w != nil {
		if r := w.Admit(p.object); r != nil {
			return r
		}
	}
	if r := checkSysctls(p.object, a.opts.AllowedUnsafeSysctls); r != nil {
		return r
	}
	if r := checkPlatform(p.object, p.node.manifest); r != nil {
		return r
	}
	if p.node.shuttingDown.Load() {
		return &Rejection{"NodeShutdown", "Pod was rejected as the node is shutting down."}
	}
	return nil
}

// checkPlacement are what the rules of placement say against a pod.
func (a *Agent) checkPlacement(p *pod) []placement.AdmissionResult {
	id, ok := a.state.NodeID(p.node.manifest.Name)
	if !ok {
		return nil
	}
	return placement.AdmissionCheck(a.state.Node(id), a.converter.Pod(p.object))
}

// findVictims are the pods that have to end so that a critical pod finds room; not ok: it does not get
// any. That it lacks something else counts before its lack of room.
func (a *Agent) findVictims(p *pod, denials []placement.AdmissionResult) (victims []*model.Pod, ok bool) {
	pod := a.converter.Pod(p.object)
	if !isCriticalPod(pod) || slices.ContainsFunc(denials, func(d placement.AdmissionResult) bool { return d.Resource == "" }) {
		return nil, false
	}
	id, _ := a.state.NodeID(p.node.manifest.Name)
	return preemption.VictimsForCriticalPod(a.state.Node(id), pod, denials, a.qosClass, isCriticalPod)
}

func isCriticalPod(p *model.Pod) bool { return nodepressure.Critical(p, nil) }

// qosClass is the quality of service class of a pod of ours.
func (a *Agent) qosClass(m *model.Pod) preemption.QoS {
	p := a.pods[types.UID(m.UID)]
	if p == nil {
		return preemption.Burstable
	}
	switch conversion.QoS(p.object) {
	case corev1.PodQOSBestEffort:
		return preemption.BestEffort
	case corev1.PodQOSGuaranteed:
		return preemption.Guaranteed
	}
	return preemption.Burstable
}

// rejectionFor is the first denial; of a critical pod the first that no room would cure.
func rejectionFor(p *pod, denials []placement.AdmissionResult) *Rejection {
	d := denials[0]
	if p.object.Spec.Priority != nil && *p.object.Spec.Priority >= nodepressure.CriticalPriority {
		if i := slices.IndexFunc(denials, func(d placement.AdmissionResult) bool { return d.Resource == "" }); i >= 0 {
			d = denials[i]
		}
	}
	return &Rejection{d.Reason, d.Message}
}

// rejectPod has a pod Failed that never ran.
func (a *Agent) rejectPod(p *pod, r *Rejection) {
	p.rejected = true
	a.opts.Metrics.countRejection(r.Reason)
	a.opts.Events.Event(p.object, corev1.EventTypeWarning, r.Reason, r.Message)
	a.stepPod(p, podlifecycle.Fail{Reason: r.Reason, Message: "Pod was rejected: " + r.Message})
}

// The kubelet's words for a pod that makes room.
const (
	preemptionMessage          = "Preempted in order to admit critical pod"
	preemptionConditionMessage = "Pod was preempted by Kubelet to accommodate a critical pod."
)

// preempt ends pods so that a critical one can be taken.
func (a *Agent) preempt(p *pod, victims []*model.Pod, denials []placement.AdmissionResult) {
	p.blocked, p.admissionPending, p.pendingVictims = true, true, map[types.UID]bool{}
	a.preemptors[p.object.UID] = p
	for _, v := range victims {
		p.pendingVictims[types.UID(v.UID)] = true
	}
	a.opts.Metrics.countPreemption(denials, len(victims))
	for _, v := range victims {
		victim := a.pods[types.UID(v.UID)] // what is counted on a node is one of ours
		a.opts.Events.Event(victim.object, corev1.EventTypeWarning, "Preempting", preemptionMessage)
		a.evict(Eviction{Pod: types.UID(v.UID), Reason: "Preempting", Message: preemptionMessage, Grace: terminationGracePeriod(victim.object),
			Condition: newDisruptionTarget(preemptionConditionMessage)})
	}
}

// terminationGracePeriod is what a pod is given to end unless somebody says otherwise.
func terminationGracePeriod(p *corev1.Pod) time.Duration {
	spec := conversion.PodLifecycleSpec(&p.Spec)
	return spec.GracePeriod()
}

// newDisruptionTarget is the condition of a pod that its node has ended.
func newDisruptionTarget(message string) *corev1.PodCondition {
	return &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: message}
}

// retryPreemptors judges the pods once more that have waited for the end of one.
func (a *Agent) retryPreemptors(ended types.UID) {
	var next []*pod
	for _, p := range a.preemptors {
		if p.pendingVictims[ended] {
			if delete(p.pendingVictims, ended); len(p.pendingVictims) == 0 {
				next = append(next, p)
			}
		}
	}
	slices.SortFunc(next, func(x, y *pod) int { return compareByName(x.object, y.object) })
	for _, p := range next {
		a.releaseResources(p)
		a.retryAdmission(p)
	}
}

// retryAdmission judges a pod that was held.
func (a *Agent) retryAdmission(p *pod) {
	a.unblock(p)
	if p.object.DeletionTimestamp == nil {
		a.admitWithNode(p, true)
	}
	a.stepPod(p)
}

// nodeRead is how a node is now, for a pod that waits to know.
type nodeRead struct {
	pod  types.UID
	node *corev1.Node // nil: nobody could say
}

// readNode asks the API how a pod's node is now.
func (a *Agent) readNode(p *pod) {
	uid, name := p.object.UID, p.node.manifest.Name
	go func() {
		n, err := a.opts.Client.CoreV1().Nodes().Get(a.ctx, name, metav1.GetOptions{})
		if err != nil {
			n = nil
		}
		a.nodeReads.put(nodeRead{uid, n})
	}()
}

// handleNodeRead judges a pod by what the API has said of its node.
func (a *Agent) handleNodeRead(l nodeRead) {
	if l.node != nil {
		a.handleNode(l.node)
	}
	if p := a.pods[l.pod]; p != nil && p.blocked {
		a.retryAdmission(p)
	}
}
