package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodes returns n equal nodes with 32 CPUs, 64 Gi of memory and 110 pods in three zones.
func nodes(n int) []*corev1.Node {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	out := make([]*corev1.Node, n)
	for i := range out {
		name := fmt.Sprintf("node-%05d", i)
		out[i] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3)}},
			Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts,
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}
	}
	return out
}

// template returns a pod of an app as the ReplicaSet of a Deployment creates it.
func template(app, cpu, memory string, change func(*corev1.Pod)) *corev1.Pod {
	controller := true
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": app},
			CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app,
				UID: types.UID("uid-" + app), Controller: &controller}}},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Priority: new(int32),
			Containers: []corev1.Container{{Name: "c", Image: "registry.example/" + app + ":1",
				Resources: corev1.ResourceRequirements{Requests: requests}}},
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	if change != nil {
		change(p)
	}
	return p
}

// builder puts pods on nodes.
type builder struct{ *Workload }

func build(name string, n int) *builder {
	return &builder{&Workload{Name: name, Nodes: nodes(n)}}
}

func (b *builder) template(p *corev1.Pod) int {
	b.Templates = append(b.Templates, p)
	return len(b.Templates) - 1
}

// put puts a pod on a node, modulo the number of nodes.
func (b *builder) put(template, node int) {
	b.Placed = append(b.Placed, Placed{template, b.Nodes[node%len(b.Nodes)].Name})
}

// putIn puts a pod on a node of a zone, modulo the number of nodes of the zone.
func (b *builder) putIn(zone, template, node int) {
	b.put(template, node%(len(b.Nodes)/3)*3+zone)
}

// apps fills the nodes evenly with the given number of apps and of pods per app, each pod
// on a different node.
func (b *builder) apps(apps, podsPerApp int, change func(*corev1.Pod)) {
	stride := len(b.Nodes) / podsPerApp
	for a := range apps {
		t := b.template(template(fmt.Sprintf("app-%04d", a), "500m", "512Mi", change))
		for r := range podsPerApp {
			b.put(t, a+r*stride)
		}
	}
}
