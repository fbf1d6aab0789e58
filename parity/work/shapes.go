package work

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shape is a row of the table.
type Shape struct {
	Name string
	Pods int     // measured, at 5,000 nodes, where kube-scheduler samples
	All  int     // the same, where it looks at all nodes
	Aim  float64 // how many times less CPU Berth should take
	make func(w *Work, pods int)
}

// Shapes are the rows. Pods are so many that kube-scheduler is busy for some seconds.
func Shapes() []Shape {
	return []Shape{
		{"plain", 5000, 600, 70, one(nil)},
		{"required node affinity", 3000, 600, 150, one(inTwoZones)},
		{"preferred anti-affinity, host", 2000, 500, 150, one(apartIfPossible)},
		{"required anti-affinity, host", 2000, 500, 150, one(apart)},
		{"required affinity, zone", 1500, 500, 150, one(together)},
		{"hard spread, zone", 2000, 500, 150, one(spread)},
		{"default spread", 1500, 400, 150, serviced},
		{"100 shapes", 2000, 500, 150, hundred},
		{"1,000 shapes, churn", 3000, 600, 30, thousand},
		{"unschedulable", 1000, 1000, 150, refused},
		{"preemption", 500, 500, 150, preemption},
	}
}

// Make is the shape on n nodes with so many measured pods.
func (s Shape) Make(n, pods int, percentage int32) *Work {
	w := &Work{Name: s.Name, Percentage: percentage, Nodes: Nodes(n), Warm: pods / 5}
	s.make(w, pods)
	return w
}

// rotate lets pods of all templates arrive in turn.
func (w *Work) rotate(pods int) {
	for i := range pods + w.Warm {
		w.Pods = append(w.Pods, i%len(w.Templates))
	}
}

func one(change func(string, *corev1.PodSpec)) func(*Work, int) {
	return func(w *Work, pods int) {
		w.Templates = []*corev1.Pod{pod("web", func(s *corev1.PodSpec) {
			if change != nil {
				change("web", s)
			}
		})}
		w.rotate(pods)
	}
}

func refused(w *Work, pods int) {
	w.Refusals = true
	one(tooBig)(w, pods)
}

func serviced(w *Work, pods int) {
	w.Services = append(w.Services, service("web"))
	one(nil)(w, pods)
}

// mix makes n templates, each of an app and a size of its own, of six kinds in turn.
func mix(w *Work, n int) {
	kinds := []func(string, *corev1.PodSpec){nil, inTwoZones, apartIfPossible, together, spread, nil}
	for i := range n {
		app := fmt.Sprintf("app-%d", i)
		if i%len(kinds) == 5 {
			w.Services = append(w.Services, service(app))
		}
		w.Templates = append(w.Templates, pod(app, func(s *corev1.PodSpec) {
			asks(s, fmt.Sprintf("%dm", 100+10*(i%50)), fmt.Sprintf("%dMi", 128+16*(i%40)))
			if k := kinds[i%len(kinds)]; k != nil {
				k(app, s)
			}
		}))
	}
}

// hundred warms up until each shape has been seen twice.
func hundred(w *Work, pods int) {
	mix(w, 100)
	w.Warm = max(w.Warm, 200)
	w.rotate(pods)
}

// thousand warms up until each shape has been seen twice; from then on a pod goes for each bound.
func thousand(w *Work, pods int) {
	mix(w, 1000)
	w.Warm = max(w.Warm, 2000)
	w.Hold = w.Warm
	w.rotate(pods)
}

// preemption fills each node with four pods of low priority; each preemptor needs the room of one.
func preemption(w *Work, pods int) {
	asksEight := func(priority int32) func(*corev1.PodSpec) {
		return func(s *corev1.PodSpec) {
			asks(s, "8", "1Gi")
			s.Priority = &priority
		}
	}
	w.Templates = []*corev1.Pod{pod("low", asksEight(0)), pod("high", asksEight(1000))}
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

func of(app string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

func inTwoZones(_ string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: Zone, Operator: corev1.NodeSelectorOpIn, Values: []string{"zone-0", "zone-1"}}}}}}}}
}

func apartIfPossible(app string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
		{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: Host, LabelSelector: of(app)}}}}}
}

func apart(app string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: Host, LabelSelector: of(app)}}}}
}

func together(app string, s *corev1.PodSpec) {
	s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: Zone, LabelSelector: of(app)}}}}
}

func spread(app string, s *corev1.PodSpec) {
	s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: Zone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: of(app)}}
}

func tooBig(_ string, s *corev1.PodSpec) { asks(s, "64", "512Mi") }

// Full is a cluster on which many pods are, of 100 apps, and some more arrive.
func Full(nodes, placed, arriving int) *Work {
	w := &Work{Name: "memory", Nodes: Nodes(nodes), Lean: true}
	for i := range 100 {
		w.Templates = append(w.Templates, pod(fmt.Sprintf("app-%d", i), func(s *corev1.PodSpec) { asks(s, "100m", "128Mi") }))
	}
	for i := range placed {
		w.Placed = append(w.Placed, Placed{Template: i % 100, Node: w.Nodes[i%nodes].Name})
	}
	w.rotate(arriving)
	return w
}
