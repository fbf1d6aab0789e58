package agent

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/sim/store"
)

// retryDelay is the delay before a failed write is retried.
const retryDelay = 500 * time.Millisecond

// writeStatus writes the status of the pod, and finally deletes it, after the latency.
func (a *Agents) writeStatus(p *agentPod) {
	p.dirty = true
	if p.writing {
		return
	}
	status, changed := a.statusOf(p)
	if !changed && !p.deleted {
		p.dirty = false
		return
	}
	p.writing, p.dirty = true, false
	a.w.After(a.w.Latency(), func() { a.commitStatus(p, status, changed) })
}

// commitStatus writes the status and deletes a pod whose lifecycle has ended, unless the agent has stopped in the
// meantime. A lost write is retried.
func (a *Agents) commitStatus(p *agentPod, status corev1.PodStatus, changed bool) {
	p.writing = false
	if a.pods[p.object.UID] != p {
		return
	}
	if a.partitioned[p.object.Spec.NodeName] {
		p.dirty = true
		return
	}
	key, pre := store.KeyOf(p.object), store.Precondition{UID: string(p.object.UID)}
	if a.w.Faults().LosesWrite(key) {
		a.w.After(retryDelay, func() {
			if a.pods[p.object.UID] == p {
				a.writeStatus(p)
			}
		})
		return
	}
	if changed {
		err := a.w.API().UpdatePod(key, pre, func(o *corev1.Pod) error {
			previous := o.Status
			o.Status = status
			o.Status.NominatedNodeName = previous.NominatedNodeName
			o.Status.Conditions = mergeConditions(previous.Conditions, status.Conditions)
			return nil
		})
		if err == nil {
			a.logPhase(p.object, &status)
			a.countEviction(p, &status)
			if o := a.w.API().Pod(key); o != nil && o.UID == p.object.UID {
				p.object = o
			}
		}
	}
	if p.deleted {
		if a.w.API().DeletePod(key, pre, new(int64)) == nil {
			a.w.Log("agent", "delete", key, key+" is deleted from "+p.object.Spec.NodeName)
		}
		return
	}
	if p.dirty {
		a.writeStatus(p)
	}
}

// logPhase logs a phase change.
func (a *Agents) logPhase(old *corev1.Pod, status *corev1.PodStatus) {
	if old.Status.Phase == status.Phase {
		return
	}
	phaseTexts := map[corev1.PodPhase]string{corev1.PodRunning: "runs", corev1.PodSucceeded: "has succeeded", corev1.PodFailed: "has failed"}
	if text := phaseTexts[status.Phase]; text != "" {
		a.w.Log("agent", string(status.Phase), store.KeyOf(old), store.KeyOf(old)+" "+text+" on "+old.Spec.NodeName)
	}
}
