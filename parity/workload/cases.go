package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Case is a workload of the benchmark: a row of its table.
type Case struct {
	Name   string
	Pods   int     // measured pods if kube-scheduler samples nodes
	All    int     // measured pods if kube-scheduler evaluates all nodes
	Target float64 // required ratio of kube-scheduler's CPU time to Berth's
	make   func(w *Workload, pods int)
}

// Cases returns all cases. There are enough pods for kube-scheduler to be busy for some
// seconds.
func Cases() []Case {
	return []Case{
		{"plain", 5000, 600, 70, singleTemplate(nil)},
		{"required node affinity", 3000, 600, 150, singleTemplate(requiredNodeAffinity)},
		{"preferred anti-affinity, host", 2000, 500, 150, singleTemplate(preferredHostAntiAffinity)},
		{"required anti-affinity, host", 2000, 500, 150, singleTemplate(requiredHostAntiAffinity)},
		{"required affinity, zone", 1500, 500, 150, singleTemplate(requiredZoneAffinity)},
		{"hard spread, zone", 2000, 500, 150, singleTemplate(hardZoneSpread)},
		{"default spread", 1500, 400, 150, defaultSpread},
		{"100 pod specifications", 2000, 500, 150, hundredSpecifications},
		{"1,000 pod specifications, churn", 3000, 600, 30, thousandSpecifications},
		{"unschedulable", 1000, 1000, 150, unschedulable},
		{"preemption", 500, 500, 150, preemption},
	}
}

// Make returns the workload on n nodes with the given number of measured pods. percentage is
// Workload.Percentage.
func (s Case) Make(n, pods int, percentage int32) *Workload {
	w := &Workload{Name: s.Name, Percentage: percentage, Nodes: Nodes(n), Warm: pods / 5}
	s.make(w, pods)
	return w
}

// rotate adds pods of all templates in turn.
func (w *Workload) rotate(pods int) {
	for i := range pods + w.Warm {
		w.Pods = append(w.Pods, i%len(w.Templates))
	}
}

func singleTemplate(change func(string, *corev1.PodSpec)) func(*Workload, int) {
	return func(w *Workload, pods int) {
		w.Templates = []*corev1.Pod{pod("web", func(s *corev1.PodSpec) {
			if change != nil {
				change("web", s)
			}
		})}
		w.rotate(pods)
	}
}

func unschedulable(w *Workload, pods int) {
	w.CountUnschedulable = true
	singleTemplate(oversized)(w, pods)
}

func defaultSpread(w *Workload, pods int) {
	w.Services = append(w.Services, service("web"))
	singleTemplate(nil)(w, pods)
}

// addMixedTemplates makes n templates, each of a different app and size, of six
// alternating kinds.
func addMixedTemplates(w *Workload, n int) {
	kinds := []func(string, *corev1.PodSpec){nil, requiredNodeAffinity, preferredHostAntiAffinity, requiredZoneAffinity, hardZoneSpread, nil}
	for i := range n {
		app := fmt.Sprintf("app-%d", i)
		if i%len(kinds) == 5 {
			w.Services = append(w.Services, service(app))
		}
		w.Templates = append(w.Templates, pod(app, func(s *corev1.PodSpec) {
			setRequests(s, fmt.Sprintf("%dm", 100+10*(i%50)), fmt.Sprintf("%dMi", 128+16*(i%40)))
			if k := kinds[i%len(kinds)]; k != nil {
				k(app, s)
			}
		}))
	}
}

// hundredSpecifications warms up with two pods of each specification.
func hundredSpecifications(w *Workload, pods int) {
	addMixedTemplates(w, 100)
	w.Warm = max(w.Warm, 200)
	w.rotate(pods)
}

// thousandSpecifications warms up with two pods of each specification. From then on one pod is removed for each
// bound pod.
func thousandSpecifications(w *Workload, pods int) {
	addMixedTemplates(w, 1000)
	w.Warm = max(w.Warm, 2000)
	w.MaxBound = w.Warm
	w.rotate(pods)
}

// preemption fills each node with four pods of low priority. Each preemptor replaces one.
func preemption(w *Workload, pods int) {
	requestEight := func(priority int32) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			setRequests(s, "8", "1Gi")
			s.Priority = &priority
		}
	}
	w.Templates = []*corev1.Pod{pod("low", requestEight(0)), pod("high", requestEight(1000))}
	for _, n := range w.Nodes {
		for range 4 {
			w.Placed = append(w.Placed, Placed{Template: 0, Node: n.Name})
		}
	}
	w.Warm = min(w.Warm, 20)
	for range pods + w.Warm {
		w.Pods = append(w.Pods, 1)
	}
}

func appSelector(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func requiredNodeAffinity(_ string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: Zone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-0", "zone-1"}}}}}}}}
}

func preferredHostAntiAffinity(app string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: Host, LabelSelector: appSelector(app)}}}}}
}

func requiredHostAntiAffinity(app string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: Host, LabelSelector: appSelector(app)}}}}
}

func requiredZoneAffinity(app string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: Zone, LabelSelector: appSelector(app)}}}}
}

func hardZoneSpread(app string, s *corev1.PodSpec) {
	s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: Zone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: appSelector(app)}}
}

func oversized(_ string, s *corev1.PodSpec) { setRequests(s, "64", "512Mi") }

// Full returns a cluster with placed pods of 100 apps, and more pods that arrive.
func Full(nodes, placed, arriving int) *Workload {
	w := &Workload{Name: "memory", Nodes: Nodes(nodes), OnDemand: true}
	for i := range 100 {
		w.Templates = append(w.Templates, pod(fmt.Sprintf("app-%d", i), func(s *corev1.PodSpec) { setRequests(s, "100m", "128Mi") }))
	}
	for i := range placed {
		w.Placed = append(w.Placed, Placed{Template: i % 100, Node: w.Nodes[i%nodes].Name})
	}
	w.rotate(arriving)
	return w
}
