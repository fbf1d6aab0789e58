package strife

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/store"
)

// preemptor is a pod that matters more than others, and ends soon.
func (f *fight) preemptor() {
	f.high++
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("high%d", f.high), Annotations: map[string]string{sim.RunSeconds: fmt.Sprint(20 + f.r.Intn(200))}}}
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	priority := int32(100 + f.r.Intn(3))
	p.Spec.Priority = &priority
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(4+f.r.Intn(10)), resource.DecimalSI)}}}}
	sim.Complete(p)
	f.w.Admit(p)
	_ = f.w.API().Create(p)
}

func (f *fight) change(node string, what func(*corev1.Node)) {
	_ = f.w.API().Change(store.Nodes, node, store.Precondition{}, func(o store.Object) error {
		if n, ok := o.(*corev1.Node); ok {
			what(n)
		}
		return nil
	})
}

func (f *fight) toTaint() {
	node := f.node()
	f.taint = append(f.taint, node)
	at := metav1.NewTime(f.w.Now())
	f.change(node, func(n *corev1.Node) {
		n.Spec.Taints = append(slices.Clone(n.Spec.Taints), corev1.Taint{Key: "strife", Effect: corev1.TaintEffectNoExecute, TimeAdded: &at})
	})
}

func (f *fight) untaint() {
	if len(f.taint) > 0 {
		f.change(f.taint[0], func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == "strife" })
		})
		f.taint = f.taint[1:]
	}
}

func (f *fight) uncordon() {
	for _, o := range f.w.API().List(store.Nodes) {
		if n, ok := o.(*corev1.Node); ok && n.Spec.Unschedulable {
			f.change(n.Name, func(n *corev1.Node) { n.Spec.Unschedulable = false })
			return
		}
	}
}

// lose kills the agent of a node, or has one live again.
func (f *fight) lose() {
	if len(f.dead) > 4 || len(f.dead) > 0 && f.r.Intn(3) == 0 {
		f.w.StartAgent(f.dead[0])
		f.dead = f.dead[1:]
		return
	}
	node := f.node()
	f.w.KillAgent(node)
	f.dead = append(f.dead, node)
}

// hinder makes life hard for the actors.
func (f *fight) hinder() {
	actors := sim.Readers()
	if f.s.Options.Descheduling == nil {
		actors = slices.DeleteFunc(actors, func(a string) bool { return a == "descheduler" })
	}
	actor := actors[f.r.Intn(len(actors))]
	if f.r.Intn(3) == 0 {
		actor = "disruption" // on whose word the others rely
	}
	d := time.Duration(f.r.Intn(3000)) * time.Millisecond
	switch f.r.Intn(5) {
	case 0, 1:
		if sim.IsKillable(actor) {
			f.w.Kill(actor, d)
		}
	case 2:
		f.w.SetLag(actor, d/4)
	case 3:
		for _, k := range []store.Kind{store.Pods, store.Nodes, store.Budgets} {
			if sim.Watches(actor, k) {
				f.w.Drop(actor, k, d)
			}
		}
	default:
		endings := []sim.Ending{sim.Refuse, sim.Clash, sim.Lost, sim.Unheard, sim.Partly}
		effects := []string{"evict", "preempt", "mark", "tell", "delete", "status", "bind"}
		f.w.Spoil(sim.Rule{Ending: endings[f.r.Intn(len(endings))], Effect: effects[f.r.Intn(len(effects))], Times: 1 + f.r.Intn(3)})
	}
}
