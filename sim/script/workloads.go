package script

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/sim/store"
)

// createsWorkload returns the reader of a line with a workload. newObject returns the workload from its metadata, the
// selector and the template of its pods.
func createsWorkload(kind string, table words[*podLine], newObject func(*podLine, metav1.ObjectMeta, *metav1.LabelSelector, corev1.PodTemplateSpec) store.Object) func(*parser, *tokens) {
	return creates(kind, append(table, podWords...), newPodLine, func(l *podLine, _ *tokens) store.Object {
		store.ApplyDefaults(l.Pod)
		template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: l.Labels, Annotations: l.Annotations}, Spec: l.Spec}
		if len(template.Labels) == 0 {
			template.Labels = map[string]string{"app": l.Name}
		}
		return newObject(l, metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name, Generation: 1}, &metav1.LabelSelector{MatchLabels: template.Labels}, template)
	})
}

var replicasWord = word[*podLine]{"replicas=", func(l *podLine, v value) { l.replicas = int32(v.number(0, 100_000)) }}

var readReplicaSet = createsWorkload("replica set", words[*podLine]{replicasWord}, func(l *podLine, m metav1.ObjectMeta, s *metav1.LabelSelector, t corev1.PodTemplateSpec) store.Object {
	return &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: &l.replicas, Selector: s, Template: t}}
})

var readDeployment = createsWorkload("deployment", words[*podLine]{replicasWord}, func(l *podLine, m metav1.ObjectMeta, s *metav1.LabelSelector, t corev1.PodTemplateSpec) store.Object {
	return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Replicas: &l.replicas, Selector: s, Template: t}}
})

var readStatefulSet = createsWorkload("stateful set", words[*podLine]{replicasWord, {"parallel", func(l *podLine, _ value) { l.parallel = true }}},
	func(l *podLine, m metav1.ObjectMeta, s *metav1.LabelSelector, t corev1.PodTemplateSpec) store.Object {
		set := &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Replicas: &l.replicas, Selector: s, Template: t}}
		if l.parallel {
			set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}
		return set
	})

var readDaemonSet = createsWorkload("daemon set", nil, func(_ *podLine, m metav1.ObjectMeta, s *metav1.LabelSelector, t corev1.PodTemplateSpec) store.Object {
	return &appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Selector: s, Template: t}}
})
