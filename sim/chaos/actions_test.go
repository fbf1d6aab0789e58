package chaos

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent/runtime/simulated"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/cluster"
	"github.com/berthproject/berth/sim/store"
)

// createPreemptor creates a pod with a high priority that finishes soon.
func (f *injector) createPreemptor() {
	f.preemptors++
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("high%d", f.preemptors), Annotations: map[string]string{simulated.RunSeconds: fmt.Sprint(20 + f.r.Intn(200))}}}
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	priority := int32(100 + f.r.Intn(3))
	p.Spec.Priority = &priority
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(4+f.r.Intn(10)), resource.DecimalSI)}}}}
	store.ApplyDefaults(p)
	f.w.API().AdmitPod(p)
	_ = f.w.API().Create(p)
}

func (f *injector) updateNode(node string, change func(*corev1.Node)) {
	_ = f.w.API().Update(store.Nodes, node, store.Precondition{}, func(o store.Object) error {
		if n, ok := o.(*corev1.Node); ok {
			change(n)
		}
		return nil
	})
}

// taintNode adds a NoExecute taint to a node.
func (f *injector) taintNode() {
	node := f.randomNode()
	f.tainted = append(f.tainted, node)
	at := metav1.NewTime(f.w.Now())
	f.updateNode(node, func(n *corev1.Node) {
		n.Spec.Taints = append(slices.Clone(n.Spec.Taints), corev1.Taint{Key: "chaos", Effect: corev1.TaintEffectNoExecute, TimeAdded: &at})
	})
}

// untaintNode removes the oldest taint.
func (f *injector) untaintNode() {
	if len(f.tainted) > 0 {
		f.updateNode(f.tainted[0], func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == "chaos" })
		})
		f.tainted = f.tainted[1:]
	}
}

// uncordonNode uncordons the first cordoned node.
func (f *injector) uncordonNode() {
	for _, o := range f.w.API().List(store.Nodes) {
		if n, ok := o.(*corev1.Node); ok && n.Spec.Unschedulable {
			f.updateNode(n.Name, func(n *corev1.Node) { n.Spec.Unschedulable = false })
			return
		}
	}
}

// toggleAgent stops the agent of a node or restarts one.
func (f *injector) toggleAgent() {
	if len(f.stoppedAgents) > 4 || len(f.stoppedAgents) > 0 && f.r.Intn(3) == 0 {
		f.w.Agents.StartAgent(f.stoppedAgents[0])
		f.stoppedAgents = f.stoppedAgents[1:]
		return
	}
	node := f.randomNode()
	f.w.Agents.StopAgent(node)
	f.stoppedAgents = append(f.stoppedAgents, node)
}

// injectFault kills a random actor, changes the lag of its watches, breaks its watches, or makes requests fail.
func (f *injector) injectFault() {
	actors := cluster.Actors()
	if f.experiment.Options.Descheduler == nil {
		actors = slices.DeleteFunc(actors, func(a string) bool { return a == "descheduler" })
	}
	actor := actors[f.r.Intn(len(actors))]
	if f.r.Intn(3) == 0 {
		actor = "disruption" // the other actors depend on it
	}
	d := time.Duration(f.r.Intn(3000)) * time.Millisecond
	switch f.r.Intn(5) {
	case 0, 1:
		if cluster.IsKillable(actor) {
			f.w.Kill(actor, d)
		}
	case 2:
		f.w.SetWatchLag(actor, d/4)
	case 3:
		for _, k := range []store.Kind{store.Pods, store.Nodes, store.PodDisruptionBudgets} {
			if cluster.Watches(actor, k) {
				f.w.DropWatch(actor, k, d)
			}
		}
	default:
		faults := []sim.Fault{sim.Refuse, sim.Conflict, sim.RequestLost, sim.ResponseLost, sim.Partial}
		kinds := []string{sim.RequestEvict, sim.RequestPreempt, sim.RequestDisruptionTarget, sim.RequestEvent, sim.RequestDelete, sim.RequestStatus, sim.RequestBind}
		f.w.Faults().Add(sim.FaultRule{Fault: faults[f.r.Intn(len(faults))], Request: kinds[f.r.Intn(len(kinds))], Times: 1 + f.r.Intn(3)})
	}
}
