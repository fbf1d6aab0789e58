package agent

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/placement"
	"github.com/berthproject/berth/engine/podlife"
	"github.com/berthproject/berth/engine/preemption"
	"github.com/berthproject/berth/engine/pressure"
	"github.com/berthproject/berth/internal/intake"
)

// judge takes a new pod, refuses it, or holds it until there is room for it or the node is
// known as it is now: nobody is denied a place by what is old. Who put the pod here does not matter: the scheduler, or somebody past it.
func (a *Agent) judge(p *pod) {
	a.judgeSeen(p, false)
}

// judgeSeen is judge; fresh says that the node has just been looked at.
func (a *Agent) judgeSeen(p *pod, fresh bool) {
	if r := a.admit(p); r != nil {
		a.refuse(p, r)
		return
	}
	denials := a.denials(p)
	switch {
	case len(denials) == 0:
	case !fresh:
		// A label may have come just now, or a pod may have gone of which the watch tells later.
		p.held, p.unjudged = true, true
		a.ask(p)
		return
	default:
		victims, ok := a.victims(p, denials)
		if !ok {
			a.refuse(p, refusalBy(p, denials))
			return
		}
		if len(victims) > 0 {
			a.accept(p) // nobody else is to take the room
			a.preempt(p, victims, denials)
			return
		}
	}
	a.accept(p)
	a.await(p)
}

// admit asks all but the rules of placement why the node does not take a pod.
func (a *Agent) admit(p *pod) *Refusal {
	if w := p.node.pressure; w != nil {
		if r := w.Admit(p.object); r != nil {
			return r
		}
	}
	if r := sysctls(p.object, a.opts.Sysctls); r != nil {
		return r
	}
	if r := platform(p.object, p.node.want); r != nil {
		return r
	}
	if p.node.halting.Load() {
		return &Refusal{"NodeShutdown", "Pod was rejected as the node is shutting down."}
	}
	return nil
}

// denials are what the rules of placement say against a pod.
func (a *Agent) denials(p *pod) []placement.Denial {
	id, ok := a.state.NodeID(p.node.want.Name)
	if !ok {
		return nil
	}
	return placement.Admit(a.state.Node(id), a.intake.Pod(p.object))
}

// victims are the pods that have to end so that a critical pod finds room; not ok: it does not get
// any. That it lacks something else counts before its lack of room.
func (a *Agent) victims(p *pod, denials []placement.Denial) (victims []*model.Pod, ok bool) {
	pod := a.intake.Pod(p.object)
	if !isCritical(pod) || slices.ContainsFunc(denials, func(d placement.Denial) bool { return d.Resource == "" }) {
		return nil, false
	}
	id, _ := a.state.NodeID(p.node.want.Name)
	return preemption.ForCritical(a.state.Node(id), pod, denials, a.class, isCritical)
}

func isCritical(p *model.Pod) bool { return pressure.Critical(p, nil) }

// class is the quality of service class of a pod of ours.
func (a *Agent) class(m *model.Pod) preemption.QoS {
	p := a.pods[types.UID(m.UID)]
	if p == nil {
		return preemption.Burstable
	}
	switch intake.QoS(p.object) {
	case corev1.PodQOSBestEffort:
		return preemption.BestEffort
	case corev1.PodQOSGuaranteed:
		return preemption.Guaranteed
	}
	return preemption.Burstable
}

// refusalBy is the first denial; of a critical pod the first that no room would cure.
func refusalBy(p *pod, denials []placement.Denial) *Refusal {
	d := denials[0]
	if p.object.Spec.Priority != nil && *p.object.Spec.Priority >= pressure.CriticalPriority {
		if i := slices.IndexFunc(denials, func(d placement.Denial) bool { return d.Resource == "" }); i >= 0 {
			d = denials[i]
		}
	}
	return &Refusal{d.Reason, d.Message}
}

// refuse has a pod Failed that never ran.
func (a *Agent) refuse(p *pod, r *Refusal) {
	p.refused = true
	a.opts.Metrics.refused(r.Reason)
	a.opts.Events.Event(p.object, corev1.EventTypeWarning, r.Reason, r.Message)
	a.step(p, podlife.Fail{Reason: r.Reason, Message: "Pod was rejected: " + r.Message})
}

// The kubelet's words for a pod that makes room.
const (
	preemptedMessage   = "Preempted in order to admit critical pod"
	preemptedCondition = "Pod was preempted by Kubelet to accommodate a critical pod."
)

// preempt ends pods so that a critical one can be taken.
func (a *Agent) preempt(p *pod, victims []*model.Pod, denials []placement.Denial) {
	p.held, p.unjudged, p.waits = true, true, map[types.UID]bool{}
	a.waiting[p.object.UID] = p
	for _, v := range victims {
		p.waits[types.UID(v.UID)] = true
	}
	a.opts.Metrics.preempted(denials, len(victims))
	for _, v := range victims {
		victim := a.pods[types.UID(v.UID)] // what is counted on a node is one of ours
		a.opts.Events.Event(victim.object, corev1.EventTypeWarning, "Preempting", preemptedMessage)
		a.evict(Eviction{Pod: types.UID(v.UID), Reason: "Preempting", Message: preemptedMessage, Grace: patience(victim.object),
			Condition: disrupted(preemptedCondition)})
	}
}

// patience is what a pod is given to end unless somebody says otherwise.
func patience(p *corev1.Pod) time.Duration {
	spec := intake.LifeSpec(&p.Spec)
	return spec.Patience()
}

// disrupted is the condition of a pod that its node has ended.
func disrupted(message string) *corev1.PodCondition {
	return &corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: message}
}

// roomFor judges the pods once more that have waited for the end of one.
func (a *Agent) roomFor(ended types.UID) {
	var next []*pod
	for _, p := range a.waiting {
		if p.waits[ended] {
			if delete(p.waits, ended); len(p.waits) == 0 {
				next = append(next, p)
			}
		}
	}
	slices.SortFunc(next, func(x, y *pod) int { return byName(x.object, y.object) })
	for _, p := range next {
		a.uncount(p)
		a.rejudge(p)
	}
}

// rejudge judges a pod that was held.
func (a *Agent) rejudge(p *pod) {
	a.release(p)
	if p.object.DeletionTimestamp == nil {
		a.judgeSeen(p, true)
	}
	a.step(p)
}

// look is how a node is now, for a pod that waits to know.
type look struct {
	pod  types.UID
	node *corev1.Node // nil: nobody could say
}

// ask asks the API how a pod's node is now.
func (a *Agent) ask(p *pod) {
	uid, name := p.object.UID, p.node.want.Name
	go func() {
		n, err := a.opts.Client.CoreV1().Nodes().Get(a.ctx, name, metav1.GetOptions{})
		if err != nil {
			n = nil
		}
		a.looks.put(look{uid, n})
	}()
}

// looked judges a pod by what the API has said of its node.
func (a *Agent) looked(l look) {
	if l.node != nil {
		a.nodeChanged(l.node)
	}
	if p := a.pods[l.pod]; p != nil && p.held {
		a.rejudge(p)
	}
}
