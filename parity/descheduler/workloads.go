package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// packer is the scheduler of pods to pack. Berth's side treats it as one that scores with
// MostAllocated.
const packer = "packer"

// workloadKind is a kind of workload, made for n nodes.
type workloadKind struct {
	name  string
	nodes int
	make  func(name string, nodes int) *Workload
	// target is the required ratio of the Kubernetes descheduler's CPU time to Berth's; 0 for none.
	target float64
}

func workloads() []workloadKind {
	return []workloadKind{
		{"duplicates, nodeFit", 1000, duplicates, 50},
		{"spread", 1000, spread, 50},
		{"low utilization, nodeFit", 1000, low, 1},
		{"high utilization", 5000, high, 0},
		{"all strategies", 5000, allStrategies, 0},
	}
}

// duplicates has 50 pods of each app, each on a different node, except one in every eighth
// app.
func duplicates(name string, n int) *Workload {
	b := build(name, n)
	b.apps(2*n/5, 50, nil)
	b.colocate(50, 8)
	b.Policy = policy(true, plugin{"RemoveDuplicates", "{}"})
	return b.Workload
}

// colocate puts the second pod of every stride-th app on the node of the first.
func (b *builder) colocate(podsPerApp, stride int) {
	for i := 0; i+1 < len(b.Placed); i += podsPerApp * stride {
		b.Placed[i+1].Node = b.Placed[i].Node
	}
}

// spread has apps of 100 pods that must be even over the zones. Of every fourth app ten
// pods must move.
func spread(name string, n int) *Workload {
	b := build(name, n)
	for a := range n / 5 {
		t := b.template(template(fmt.Sprintf("app-%04d", a), "500m", "512Mi", spreadOverZones))
		sizes := [3]int{34, 33, 33}
		if a%4 == 0 {
			sizes = [3]int{44, 33, 23}
		}
		for zone, size := range sizes {
			for i := range size {
				b.putIn(zone, t, a*7+i*7)
			}
		}
	}
	b.Policy = policy(false, plugin{spreadName, "{}"})
	return b.Workload
}

func spreadOverZones(p *corev1.Pod) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
}

// low has each fiftieth node at 78 % of its CPU, and the next one nearly empty.
func low(name string, n int) *Workload {
	b := build(name, n)
	var hot []int
	for a := range max(n/50, 25) {
		hot = append(hot, b.template(template(fmt.Sprintf("hot-%03d", a), "1", "1Gi", nil)))
	}
	var normal []int
	for a := range 1000 {
		normal = append(normal, b.template(template(fmt.Sprintf("normal-%03d", a), "500m", "512Mi", nil)))
	}
	for i := range n {
		switch i % 50 {
		case 0:
			for r := range 25 {
				b.put(hot[(i/50+r)%len(hot)], i)
			}
		case 1:
			b.put(normal[i%1000], i)
		default:
			for r := range 20 {
				b.put(normal[(i+r*47)%1000], i)
			}
		}
	}
	b.Policy = policy(true, plugin{"LowNodeUtilization", lowArgs})
	return b.Workload
}

// high has pods of a scheduler that packs, and each fiftieth node nearly empty.
func high(name string, n int) *Workload {
	b := build(name, n)
	packed := func(p *corev1.Pod) { p.Spec.SchedulerName = packer }
	var apps []int
	for a := range 1000 {
		apps = append(apps, b.template(template(fmt.Sprintf("app-%03d", a), "500m", "512Mi", packed)))
	}
	for i := range n {
		pods := 20
		if i%50 == 1 {
			pods = 3
		}
		for r := range pods {
			b.put(apps[(i+r*47)%1000], i)
		}
	}
	b.Policy = policy(false, plugin{"HighNodeUtilization", `{"thresholds":{"cpu":10,"memory":10,"pods":10}}`})
	return b.Workload
}

// allStrategies has something for each strategy.
func allStrategies(name string, n int) *Workload {
	b := build(name, n)
	b.apps(19*n/50, 50, nil)
	b.colocate(50, 8)
	b.addUnevenSpread(n / 250)
	b.addViolations()
	b.addUnevenUtilization()
	b.Policy = policy(false,
		plugin{"RemovePodsViolatingNodeTaints", "{}"},
		plugin{"RemovePodsViolatingNodeAffinity", `{"nodeAffinityType":["requiredDuringSchedulingIgnoredDuringExecution"]}`},
		plugin{"RemovePodsViolatingInterPodAntiAffinity", "{}"},
		plugin{"RemovePodsHavingTooManyRestarts", `{"podRestartThreshold":100,"includingInitContainers":true}`},
		plugin{"PodLifeTime", `{"maxPodLifeTimeSeconds":604800}`},
		plugin{"RemoveFailedPods", `{"minPodLifetimeSeconds":60}`},
		plugin{"RemoveDuplicates", "{}"},
		plugin{spreadName, "{}"},
		plugin{"HighNodeUtilization", `{"thresholds":{"cpu":6,"memory":6,"pods":6}}`},
		plugin{"LowNodeUtilization", lowArgs})
	return b.Workload
}

// addUnevenSpread adds apps of 100 pods of which ten must move to even out the zones.
func (b *builder) addUnevenSpread(apps int) {
	for a := range apps {
		t := b.template(template(fmt.Sprintf("uneven-%03d", a), "100m", "128Mi", spreadOverZones))
		for zone, size := range [3]int{44, 33, 23} {
			for i := range size {
				b.putIn(zone, t, a*33+i)
			}
		}
	}
}

// addViolations adds pods that violate a rule or are too old or restart too often, four
// for each hundred nodes and reason, and tainted nodes.
func (b *builder) addViolations() {
	n := len(b.Nodes)
	add := func(app string, offset int, change func(*corev1.Pod)) {
		t := b.template(template(app, "100m", "128Mi", change))
		for i := range n / 25 {
			b.put(t, i*25+offset)
		}
	}
	for i := 0; i < n; i += 250 {
		b.Nodes[i].Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	}
	for i, node := range b.Nodes {
		node.Labels["disk"] = [2]string{"ssd", "hdd"}[i%2]
	}
	add("requires-ssd", 2, func(p *corev1.Pod) {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}}}
	})
	apart := func(p *corev1.Pod) {
		term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	}
	for _, app := range []string{"apart", "apart"} { // two pods per node
		add(app, 3, apart)
	}
	add("restarting", 4, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 200, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	add("old", 5, func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(time.Now().Add(-30 * 24 * time.Hour).Truncate(time.Second))
	})
	add("failed", 6, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
}

// addUnevenUtilization fills each fiftieth node, and empties the next one except for a pod
// that a packing scheduler places.
func (b *builder) addUnevenUtilization() {
	remaining := b.Placed[:0]
	for _, p := range b.Placed {
		var i int
		if _, err := fmt.Sscanf(p.Node, "node-%d", &i); err != nil || i%50 != 11 {
			remaining = append(remaining, p)
		}
	}
	b.Placed = remaining
	var hot []int
	for a := range max(len(b.Nodes)/50, 16) {
		hot = append(hot, b.template(template(fmt.Sprintf("hot-%03d", a), "1", "1Gi", nil)))
	}
	for i := range b.Nodes {
		switch i % 50 {
		case 10:
			for r := range 16 {
				b.put(hot[(i/50+r)%len(hot)], i)
			}
		case 11:
			b.put(b.template(template(fmt.Sprintf("packed-%04d", i), "500m", "512Mi", func(p *corev1.Pod) { p.Spec.SchedulerName = packer })), i)
		}
	}
}
