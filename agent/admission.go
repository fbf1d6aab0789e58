package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/internal/conversion"
)

// admit runs admission for a new pod. If placement rejects a pod, the agent first reads the current Node object from
// the API, because its watch may lag behind. Until then the pod is blocked. The check is the same whether or not the
// scheduler bound the pod.
func (a *Agent) admit(p *pod) {
	a.admitWithNode(p, false)
}

// admitWithNode implements admit. nodeIsCurrent is true for retries, after the agent has tried to read the node
// object or has evicted the victims. Placement rejects the pod only then.
func (a *Agent) admitWithNode(p *pod, nodeIsCurrent bool) {
	if r := a.runAdmitHandlers(p); r != nil {
		a.rejectPod(p, r)
		return
	}
	denials := a.checkPlacement(p)
	switch {
	case len(denials) == 0:
	case !nodeIsCurrent:
		// A label may be newer than the watch, or a deleted pod may still be counted.
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
			a.reserveResources(p) // before preempt, so that no other pod gets the resources
			a.preempt(p, victims, denials)
			return
		}
	}
	a.reserveResources(p)
	a.waitForClaims(p)
}

// runAdmitHandlers runs all admission checks except placement. It returns nil if they pass.
func (a *Agent) runAdmitHandlers(p *pod) *Rejection {
	if m := p.node.pressure; m != nil {
		if r := m.Admit(p.object); r != nil {
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

// checkPlacement returns the placement predicates that the pod fails on its node.
func (a *Agent) checkPlacement(p *pod) []placement.AdmissionResult {
	id, ok := a.state.NodeID(p.node.manifest.Name)
	if !ok {
		return nil
	}
	return placement.AdmissionCheck(a.state.Node(id), a.converter.Pod(p.podWithAllocated()))
}

// findVictims returns the pods to preempt for a critical pod. ok is false if the pod is not critical or fails a
// predicate other than resources, or if evicting all eligible pods is not enough.
func (a *Agent) findVictims(p *pod, denials []placement.AdmissionResult) (victims []*model.Pod, ok bool) {
	pod := a.converter.Pod(p.podWithAllocated())
	if !isCriticalPod(pod) || slices.ContainsFunc(denials, func(d placement.AdmissionResult) bool { return d.Resource == "" }) {
		return nil, false
	}
	id, _ := a.state.NodeID(p.node.manifest.Name)
	return preemption.VictimsForCriticalPod(a.state.Node(id), pod, denials, a.qosClass, isCriticalPod)
}

func isCriticalPod(p *model.Pod) bool { return nodepressure.Critical(p, nil) }

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

// rejectionFor returns the rejection for the first failed predicate. For a critical pod it prefers a
// predicate that preemption cannot resolve.
func rejectionFor(p *pod, denials []placement.AdmissionResult) *Rejection {
	d := denials[0]
	if p.object.Spec.Priority != nil && *p.object.Spec.Priority >= model.SystemCriticalPriority {
		if i := slices.IndexFunc(denials, func(d placement.AdmissionResult) bool { return d.Resource == "" }); i >= 0 {
			d = denials[i]
		}
	}
	return &Rejection{d.Reason, d.Message}
}

// rejectPod sets a pod that never ran to Failed.
func (a *Agent) rejectPod(p *pod, r *Rejection) {
	p.rejected = true
	a.recordRejection(p, r)
	a.stepPod(p, podlifecycle.Fail{Reason: r.Reason, Message: RejectionPrefix + r.Message})
}

// RejectionPrefix begins the status message of a rejected pod.
const RejectionPrefix = "Pod was rejected: "

// recordRejection counts a rejection and records its event.
func (a *Agent) recordRejection(p *pod, r *Rejection) {
	a.opts.Metrics.countRejection(r.Reason)
	message := RejectionPrefix + r.Message
	cause := displacement.CauseFromStatus("", r.Reason, message)
	a.opts.Events.AnnotatedEventf(p.object, DisplacementAnnotations(p.object, cause, r.Reason, message, nil, a.env.now()), corev1.EventTypeWarning, r.Reason, "%s", r.Message)
}

// The kubelet's messages for a preempted pod.
const (
	preemptionMessage          = "Preempted in order to admit critical pod"
	preemptionConditionMessage = "Pod was preempted by Kubelet to accommodate a critical pod."
)

// preempt evicts the victims and blocks the critical pod p until they have terminated.
func (a *Agent) preempt(p *pod, victims []*model.Pod, denials []placement.AdmissionResult) {
	p.blocked, p.admissionPending, p.pendingVictims = true, true, map[types.UID]bool{}
	a.preemptors[p.object.UID] = p
	for _, v := range victims {
		p.pendingVictims[types.UID(v.UID)] = true
	}
	a.opts.Metrics.countPreemption(denials, len(victims))
	for _, v := range victims {
		victim := a.pods[types.UID(v.UID)] // the agent has every pod that is counted on a node
		grace := terminationGracePeriod(victim.object)
		annotations := DisplacementAnnotations(victim.object, displacement.Admission, corev1.PodReasonTerminationByKubelet, preemptionConditionMessage, ptr.To(int64(grace/time.Second)), a.env.now())
		a.opts.Events.AnnotatedEventf(victim.object, annotations, corev1.EventTypeWarning, "Preempting", preemptionMessage)
		a.evict(Eviction{Pod: types.UID(v.UID), Reason: "Preempting", Message: preemptionMessage, Grace: grace, Condition: newDisruptionTarget(preemptionConditionMessage)})
	}
}

// terminationGracePeriod returns the grace period from the pod's specification.
func terminationGracePeriod(p *corev1.Pod) time.Duration {
	spec := conversion.PodLifecycleSpec(&p.Spec)
	return spec.GracePeriod()
}

// newDisruptionTarget returns the condition DisruptionTarget of a pod that the node agent terminates.
func newDisruptionTarget(message string) *corev1.PodCondition {
	c := conversion.NewDisruptionTarget(corev1.PodReasonTerminationByKubelet, message, time.Time{}) // the status update sets the time
	return &c
}

// retryPreemptors retries admission of the critical pods whose last victim has terminated.
func (a *Agent) retryPreemptors(terminated types.UID) {
	var unblocked []*pod
	for _, p := range a.preemptors {
		if p.pendingVictims[terminated] {
			if delete(p.pendingVictims, terminated); len(p.pendingVictims) == 0 {
				unblocked = append(unblocked, p)
			}
		}
	}
	slices.SortFunc(unblocked, func(x, y *pod) int { return compareByName(x.object, y.object) })
	for _, p := range unblocked {
		a.releaseResources(p)
		a.retryAdmission(p)
	}
}

// retryAdmission unblocks a pod and runs admission again, unless the pod is being deleted.
func (a *Agent) retryAdmission(p *pod) {
	a.unblock(p)
	if p.object.DeletionTimestamp == nil {
		a.admitWithNode(p, true)
	}
	a.stepPod(p)
}

// readNode reads the pod's node from the API in the background; handleNodeRead gets the result.
func (a *Agent) readNode(p *pod) {
	uid, name := p.object.UID, p.node.manifest.Name
	a.tasks.start(func() {
		n, err := a.opts.Client.CoreV1().Nodes().Get(a.ctx, name, metav1.GetOptions{})
		if err != nil {
			n = nil
		}
		a.inbox.post(func() { a.handleNodeRead(uid, n) })
	})
}

// handleNodeRead applies the current node object, nil if the read failed, and retries admission of the pod.
func (a *Agent) handleNodeRead(uid types.UID, n *corev1.Node) {
	if n != nil {
		a.handleNode(n)
	}
	if p := a.pods[uid]; p != nil && p.blocked {
		a.retryAdmission(p)
	}
}
