package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Host and Zone are the topology keys of the workloads.
const (
	Host = corev1.LabelHostname
	Zone = corev1.LabelTopologyZone
)

// Nodes returns n equal nodes with 32 CPUs, 64 Gi of memory and 110 pods in three zones.
func Nodes(n int) []*corev1.Node {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		nodes[i] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
				Host: name, Zone: fmt.Sprintf("zone-%d", i%3), corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}},
			Status: corev1.NodeStatus{Capacity: amounts, Allocatable: amounts,
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}},
		}
	}
	return nodes
}

// pod returns a pod of an app as a Deployment creates it. It requests half a CPU and 512 Mi of memory.
func pod(app string, change func(*corev1.PodSpec)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, RestartPolicy: corev1.RestartPolicyAlways,
			DNSPolicy: corev1.DNSClusterFirst, ServiceAccountName: "default",
			TerminationGracePeriodSeconds: new(int64(30)),
			Priority:                      new(int32(0)), PreemptionPolicy: new(corev1.PreemptLowerPriority),
			Containers: []corev1.Container{{Name: "c", Image: "registry.example/app:1", ImagePullPolicy: corev1.PullIfNotPresent}},
			Tolerations: []corev1.Toleration{
				{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
				{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable},
	}
	setRequests(&p.Spec, "500m", "512Mi")
	if change != nil {
		change(&p.Spec)
	}
	return p
}

func setRequests(s *corev1.PodSpec, cpu, memory string) {
	s.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func service(app string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": app}, Ports: []corev1.ServicePort{{Port: 80}}}}
}
