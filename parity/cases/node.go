package cases

import "fmt"

const (
	hostname = "kubernetes.io/hostname"
	zone     = "topology.kubernetes.io/zone"
	region   = "topology.kubernetes.io/region"
)

func (b *caseBuilder) node(name string) object {
	labels := object{hostname: name}
	if b.chance(0.05) {
		delete(labels, hostname)
	}
	if b.chance(0.85) {
		labels[zone] = pick(b, "z1", "z2", "z3")
	}
	if b.chance(0.7) {
		labels[region] = pick(b, "r1", "r1", "r2")
	}
	if b.chance(0.6) {
		labels["disk"] = pick(b, "ssd", "hdd")
	}
	if b.chance(0.5) {
		labels["rack"] = pick(b, "a", "b", "c", "")
	}
	if b.chance(0.4) {
		labels["gen"] = pick(b, "1", "2", "10", "-3", "07", "x", "")
	}
	metadata := object{"name": name, "labels": labels}
	spec, status := object{}, object{"allocatable": b.allocatable()}
	if b.enabled["taints"] {
		if b.chance(0.5) {
			spec["taints"] = b.taints()
		}
		if b.chance(0.12) {
			spec["unschedulable"] = true
		}
	}
	if b.enabled["images"] {
		status["images"] = b.images()
	}
	if b.chance(0.03) {
		metadata["annotations"] = object{"scheduler.alpha.kubernetes.io/preferAvoidPods": `{}`}
	}
	n := manifest("v1", "Node", metadata)
	n["spec"], n["status"] = spec, status
	return n
}

func (b *caseBuilder) allocatable() object {
	a := object{"cpu": pick(b, "4", "2", "1", "8"), "memory": pick(b, "8Gi", "4Gi", "2Gi"), "pods": "110"}
	if !b.enabled["resources"] {
		return a
	}
	a["cpu"] = pick(b, "4", "2", "1", "1500m", "0.3", "3999m", "16", "0")
	a["memory"] = pick(b, "8Gi", "4Gi", "2Gi", "1000000000", "1.5Gi", "4e9", "129Mi", "0")
	a["pods"] = pick(b, "110", "110", "4", "3", "1", "0")
	if b.chance(0.5) {
		a["ephemeral-storage"] = pick(b, "10Gi", "1Gi", "500M")
	}
	for _, name := range []string{"example.com/gpu", "example.com/fpga", "hugepages-2Mi"} {
		if b.chance(0.5) {
			a[name] = pick(b, "0", "1", "2", "4", "8")
			if name == "hugepages-2Mi" {
				a[name] = pick(b, "0", "4Mi", "64Mi")
			}
		}
	}
	for _, name := range []string{"cpu", "memory", "pods"} {
		if b.chance(0.02) {
			delete(a, name)
		}
	}
	return a
}

func (b *caseBuilder) taints() []object {
	var out []object
	seen := map[string]bool{}
	for range b.IntN(3) + 1 {
		t := object{"key": pick(b, "k1", "k2", "k3"), "effect": pick(b, "NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule")}
		if b.chance(0.7) {
			t["value"] = pick(b, "a", "b", "5", "10", "05")
		}
		if b.chance(0.1) {
			t["key"], t["effect"] = "node.kubernetes.io/unschedulable", "NoSchedule"
			delete(t, "value")
		}
		if b.chance(0.05) {
			t["key"] = pick(b, "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
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

func (b *caseBuilder) images() []object {
	var out []object
	for range b.IntN(4) {
		out = append(out, object{
			"names":     pickSome(b, 1+b.IntN(2), imageNames...),
			"sizeBytes": pick(b, 0, 10<<20, 23<<20, 24<<20, 300<<20, 999<<20, 1500<<20, 3<<30, int64(12)<<30),
		})
	}
	return out
}

func (b *caseBuilder) namespaces() {
	for _, name := range []string{"default", "team-a", "team-b"} {
		if b.chance(0.15) {
			continue // not every namespace exists
		}
		labels := object{"kubernetes.io/metadata.name": name}
		if b.chance(0.6) {
			labels["team"] = pick(b, "a", "b")
		}
		if b.chance(0.3) {
			labels["env"] = "prod"
		}
		b.others = append(b.others, manifest("v1", "Namespace", object{"name": name, "labels": labels}))
	}
}
