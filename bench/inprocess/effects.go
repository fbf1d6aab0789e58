package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/engine/scheduling"
)

// execute executes an effect, at once and successfully.
func (d *driver) execute(e scheduling.Effect) error {
	var err error
	switch e := e.(type) {
	case scheduling.Bind:
		err = d.bind(e)
	case scheduling.ReportUnschedulable:
		err = d.reportUnschedulable(e)
	case scheduling.Preempt:
		err = d.preempt(e)
	case scheduling.ClearNomination:
		err = d.change(e.Pod.UID, func(p *corev1.Pod) { p.Status.NominatedNodeName = "" })
	default:
		err = fmt.Errorf("unsupported effect type %T", e)
	}
	d.events = append(d.events, scheduling.Outcome{ID: e.EffectID()})
	return err
}

// change adds an event with a changed copy of a pod.
func (d *driver) change(uid string, change func(*corev1.Pod)) error {
	tracked := d.pods[uid]
	if tracked == nil {
		return fmt.Errorf("pod %s does not exist", uid)
	}
	var pod corev1.Pod
	if tracked.pod != nil {
		pod = *tracked.pod
		tracked.pod = &pod
	} else {
		created, err := d.newPod(d.workload.Pods[tracked.index], strings.TrimPrefix(uid, uidPrefix))
		if err != nil {
			return err
		}
		pod = *created
		pod.Spec.NodeName = tracked.node
	}
	change(&pod)
	d.addPodEvent(tracked, &pod)
	return nil
}

func (d *driver) bind(b scheduling.Bind) error {
	tracked := d.pods[b.Pod.UID]
	if tracked == nil || tracked.node != "" {
		return fmt.Errorf("binding of pod %s, which does not exist or is bound", b.Pod.Key())
	}
	if err := d.change(b.Pod.UID, func(p *corev1.Pod) { p.Spec.NodeName = b.Node }); err != nil {
		return err
	}
	tracked.node = b.Node
	d.bound++
	d.lastChange = time.Now()
	d.order = append(d.order, b.Pod.UID)
	if d.workload.MaxBound > 0 && len(d.order) > d.workload.MaxBound {
		d.removePod(d.order[0])
	}
	d.markFinished(tracked)
	return nil
}

func (d *driver) reportUnschedulable(r scheduling.ReportUnschedulable) error {
	tracked := d.pods[r.Pod.UID]
	if tracked == nil {
		return fmt.Errorf("rejection of pod %s, which does not exist", r.Pod.Key())
	}
	if tracked.index >= 0 && !tracked.unschedulable {
		tracked.unschedulable = true
		d.unschedulable++
	}
	if d.workload.CountUnschedulable {
		d.markFinished(tracked)
	}
	return d.change(r.Pod.UID, func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	})
}

// preempt sets the nomination and removes the victims at once. With Workload.Recreate it recreates the
// victims, except those of Workload.Placed.
func (d *driver) preempt(p scheduling.Preempt) error {
	if err := d.change(p.Pod.UID, func(pod *corev1.Pod) { pod.Status.NominatedNodeName = p.Plan.Node }); err != nil {
		return err
	}
	for _, v := range p.Plan.Victims {
		tracked := d.pods[v.UID]
		if tracked == nil {
			continue // the victim was already removed
		}
		d.victims++
		if tracked.preemptions > 0 {
			d.cascades++
		}
		d.lastChange = time.Now()
		d.removePod(v.UID)
		if !d.workload.Recreate || tracked.index < 0 {
			continue
		}
		recreated, err := d.newPod(d.workload.Pods[tracked.index], fmt.Sprintf("p-%d-%d", tracked.index, tracked.preemptions+1))
		if err != nil {
			return err
		}
		d.addPod(recreated, tracked.index, tracked.preemptions+1)
	}
	return nil
}

func (d *driver) resetCounters() {
	d.bound, d.unschedulable, d.victims, d.cascades, d.start, d.lastChange = 0, 0, 0, 0, time.Now(), time.Now()
}

// finish writes the outcome of the pods into the result.
func (d *driver) finish(r *Result) {
	r.Bound, r.Refused, r.Victims, r.Cascades = d.bound, d.unschedulable, d.victims, d.cascades
	r.LastChange = d.lastChange.Sub(d.start).Seconds()
	r.countNodes(d.pods)
	if d.workload.Settle > 0 {
		for _, tracked := range d.pods {
			if tracked.index >= 0 {
				r.Final = append(r.Final, Final{Pod: tracked.index, Node: tracked.node})
			}
		}
		slices.SortFunc(r.Final, func(a, b Final) int { return a.Pod - b.Pod })
	}
}

// countNodes records the number of nodes with pods that arrived, and the maximum number of these pods on one
// node.
func (r *Result) countNodes(pods map[string]*trackedPod) {
	podsByNode := map[string]int{}
	for _, tracked := range pods {
		if tracked.index >= 0 && tracked.node != "" {
			podsByNode[tracked.node]++
			r.MostOnOne = max(r.MostOnOne, podsByNode[tracked.node])
		}
	}
	r.NodesUsed = len(podsByNode)
}
