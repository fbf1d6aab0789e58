package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/parity/workload"
)

// group is a set of pods with one template.
type group struct {
	app     string
	count   int
	first   bool // created and placed before the other groups
	pending bool // must not be placed
	change  func(i int, s *corev1.PodSpec)
}

// groups returns groups with 1,000 pods in total.
func groups() []group {
	return []group{
		{app: "low", count: fullNodes * victims, first: true, change: func(_ int, s *corev1.PodSpec) { onFullNodes(s); setRequests(s, "8", "1Gi") }},
		{app: "plain", count: 290},
		{app: "zones", count: 100, change: func(_ int, s *corev1.PodSpec) { s.Affinity = requiredNodeAffinity(workload.Zone, "zone-0", "zone-1") }},
		{app: "prefer-apart", count: 100, change: func(_ int, s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: podAffinityTerm("prefer-apart", workload.Host)}}}}
		}},
		{app: "apart", count: 90, change: func(_ int, s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podAffinityTerm("apart", workload.Host)}}}
		}},
		{app: "together", count: 100, change: func(_ int, s *corev1.PodSpec) {
			s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podAffinityTerm("together", workload.Zone)}}}
		}},
		{app: "spread", count: 99, change: func(_ int, s *corev1.PodSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: workload.Zone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: appSelector("spread")}}
		}},
		{app: "served", count: 60},
		{app: "port", count: 51, change: func(_ int, s *corev1.PodSpec) {
			s.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
		}},
		{app: "volume", count: volumes, change: func(i int, s *corev1.PodSpec) {
			s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%d", i)}}}}
		}},
		{app: "high", count: preemptors, change: func(_ int, s *corev1.PodSpec) {
			onFullNodes(s)
			setRequests(s, "8", "1Gi")
			s.PriorityClassName = "high"
		}},
		{app: "too-big", count: 20, pending: true, change: func(_ int, s *corev1.PodSpec) { setRequests(s, "64", "1Gi") }},
	}
}

func (g group) pod(i int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: meta(fmt.Sprintf("%s-%d", g.app, i)), Spec: corev1.PodSpec{SchedulerName: scheduler,
		Containers: []corev1.Container{{Name: "c", Image: "registry.example/app:1"}}}}
	p.Labels = map[string]string{"app": g.app}
	setRequests(&p.Spec, "500m", "512Mi")
	if g.change != nil {
		g.change(i, &p.Spec)
	}
	return p
}

func setRequests(s *corev1.PodSpec, cpu, memory string) {
	s.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// onFullNodes allows a pod only on the full nodes.
func onFullNodes(s *corev1.PodSpec) {
	s.NodeSelector = map[string]string{poolLabel: "full"}
	s.Tolerations = []corev1.Toleration{{Key: poolLabel, Operator: corev1.TolerationOpExists}}
}

func requiredNodeAffinity(key string, values ...string) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}}}}}
}

func appSelector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func podAffinityTerm(app, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: appSelector(app)}
}
