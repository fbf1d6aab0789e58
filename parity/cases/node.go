package cases

import "fmt"

const (
	hostname = "kubernetes.io/hostname"
	zone     = "topology.kubernetes.io/zone"
	region   = "topology.kubernetes.io/region"
)

func (w *caseBuilder) node(name string) object {
	labels := object{hostname: name}
	if w.chance(0.05) {
		delete(labels, hostname)
	}
	if w.chance(0.85) {
		labels[zone] = pick(w, "z1", "z2", "z3")
	}
	if w.chance(0.7) {
		labels[region] = pick(w, "r1", "r1", "r2")
	}
	if w.chance(0.6) {
		labels["disk"] = pick(w, "ssd", "hdd")
	}
	if w.chance(0.5) {
		labels["rack"] = pick(w, "a", "b", "c", "")
	}
	if w.chance(0.4) {
		labels["gen"] = pick(w, "1", "2", "10", "-3", "07", "x", "")
	}
	metadata := object{"name": name, "labels": labels}
	spec, status := object{}, object{"allocatable": w.allocatable()}
	if w.enabled["taints"] {
		if w.chance(0.5) {
			spec["taints"] = w.taints()
		}
		if w.chance(0.12) {
			spec["unschedulable"] = true
		}
	}
	if w.enabled["images"] {
		status["images"] = w.images()
	}
	if w.chance(0.03) {
		metadata["annotations"] = object{"scheduler.alpha.kubernetes.io/preferAvoidPods": `{}`}
	}
	n := manifest("v1", "Node", metadata)
	n["spec"], n["status"] = spec, status
	return n
}

func (w *caseBuilder) allocatable() object {
	a := object{"cpu": pick(w, "4", "2", "1", "8"), "memory": pick(w, "8Gi", "4Gi", "2Gi"), "pods": "110"}
	if !w.enabled["resources"] {
		return a
	}
	a["cpu"] = pick(w, "4", "2", "1", "1500m", "0.3", "3999m", "16", "0")
	a["memory"] = pick(w, "8Gi", "4Gi", "2Gi", "1000000000", "1.5Gi", "4e9", "129Mi", "0")
	a["pods"] = pick(w, "110", "110", "4", "3", "1", "0")
	if w.chance(0.5) {
		a["ephemeral-storage"] = pick(w, "10Gi", "1Gi", "500M")
	}
	for _, name := range []string{"example.com/gpu", "example.com/fpga", "hugepages-2Mi"} {
		if w.chance(0.5) {
			a[name] = pick(w, "0", "1", "2", "4", "8")
			if name == "hugepages-2Mi" {
				a[name] = pick(w, "0", "4Mi", "64Mi")
			}
		}
	}
	for _, name := range []string{"cpu", "memory", "pods"} {
		if w.chance(0.02) {
			delete(a, name)
		}
	}
	return a
}

func (w *caseBuilder) taints() []object {
	var out []object
	seen := map[string]bool{}
	for range w.IntN(3) + 1 {
		t := object{"key": pick(w, "k1", "k2", "k3"), "effect": pick(w, "NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule")}
		if w.chance(0.7) {
			t["value"] = pick(w, "a", "b", "5", "10", "05")
		}
		if w.chance(0.1) {
			t["key"], t["effect"] = "node.kubernetes.io/unschedulable", "NoSchedule"
			delete(t, "value")
		}
		if w.chance(0.05) {
			t["key"] = pick(w, "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
		}
		if id := fmt.Sprint(t["key"], t["effect"]); !seen[id] { // each pair is allowed once
			seen[id] = true
			out = append(out, t)
		}
	}
	return out
}

// imageNames are the images of nodes and of pods.
var imageNames = []string{"app:1", "app:2", "registry.example/app:1", "big", "big:latest", "db@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "localhost:5000/x", "docker.io/library/big:latest"}

func (w *caseBuilder) images() []object {
	var out []object
	for range w.IntN(4) {
		out = append(out, object{
			"names":     pickSome(w, 1+w.IntN(2), imageNames...),
			"sizeBytes": pick(w, 0, 10<<20, 23<<20, 24<<20, 300<<20, 999<<20, 1500<<20, 3<<30, int64(12)<<30),
		})
	}
	return out
}

func (w *caseBuilder) namespaces() {
	for _, name := range []string{"default", "team-a", "team-b"} {
		if w.chance(0.15) {
			continue // not every namespace exists
		}
		labels := object{"kubernetes.io/metadata.name": name}
		if w.chance(0.6) {
			labels["team"] = pick(w, "a", "b")
		}
		if w.chance(0.3) {
			labels["env"] = "prod"
		}
		w.others = append(w.others, manifest("v1", "Namespace", object{"name": name, "labels": labels}))
	}
}
