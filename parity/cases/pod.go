package cases

import "fmt"

// pod makes a running pod or a pending one.
func (b *caseBuilder) pod(name string, running bool) object {
	metadata := object{"name": name, "namespace": "default", "labels": b.podLabels()}
	if running && b.chance(0.25) {
		metadata["namespace"] = pick(b, "team-a", "team-b")
	}
	spec, status := object{"priority": pick(b, 0, 0, 5, 10, -1)}, object{}
	b.containers(spec, status, running)
	if running {
		b.run(metadata, spec, status)
	}
	if b.enabled["ports"] {
		b.ports(spec)
	}
	if b.enabled["podaffinity"] && (!running || b.chance(0.4)) {
		b.podAffinity(metadata, spec)
	}
	if b.enabled["volumes"] && (!running || b.chance(0.4)) {
		b.podVolumes(metadata, spec)
	}
	if !running || b.chance(0.1) {
		b.constrain(metadata, spec)
	}
	p := manifest("v1", "Pod", metadata)
	p["spec"], p["status"] = spec, status
	return p
}

func (b *caseBuilder) podLabels() object {
	labels := object{}
	if b.chance(0.9) {
		labels["app"] = pick(b, "web", "web", "db", "cache")
	}
	if b.chance(0.5) {
		labels["tier"] = pick(b, "a", "b")
	}
	if b.chance(0.4) {
		labels["version"] = pick(b, "1", "2", "")
	}
	return labels
}

// run puts a pod on a node. Some pods are completed or being deleted, or their node does not exist.
func (b *caseBuilder) run(metadata, spec, status object) {
	spec["nodeName"] = pick(b, b.nodes...)["metadata"].(object)["name"]
	status["startTime"] = "2026-01-01T00:01:40Z"
	status["phase"] = pick(b, "Running", "Running", "Running", "Pending")
	switch {
	case b.chance(0.05):
		status["phase"] = pick(b, "Succeeded", "Failed")
	case b.chance(0.08):
		metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = "2026-01-02T00:00:00Z", 30
	case b.chance(0.02):
		spec["nodeName"] = "ghost"
	}
}

// constrain adds tolerations, node affinity and topology spread constraints.
func (b *caseBuilder) constrain(metadata, spec object) {
	if b.enabled["taints"] {
		if b.chance(0.8) {
			spec["tolerations"] = b.tolerations()
		}
	}
	if b.enabled["nodeaffinity"] {
		b.nodeAffinity(spec)
	}
	if b.enabled["spread"] {
		b.spread(metadata, spec)
	}
}

func (b *caseBuilder) pending() object {
	p := b.pod("p", false)
	metadata, spec, status := p["metadata"].(object), p["spec"].(object), p["status"].(object)
	if b.enabled["nominated"] && b.chance(0.4) {
		status["nominatedNodeName"] = pick(b, "ghost", "n01", "n02", "n03")
	}
	if b.enabled["queue"] {
		b.queue(metadata, spec, status)
	}
	return p
}

// nominatedPod returns a pending pod that has preempted other pods on a node.
func (b *caseBuilder) nominatedPod(name string) object {
	p := b.pod(name, false)
	p["spec"].(object)["priority"] = pick(b, 0, 5, 5, 10, 100, -1)
	p["status"].(object)["nominatedNodeName"] = pick(b, "n01", "n02", "n03", "ghost", pick(b, b.nodes...)["metadata"].(object)["name"].(string))
	if b.chance(0.1) {
		p["spec"].(object)["schedulerName"] = "other"
	}
	if b.chance(0.1) {
		p["metadata"].(object)["deletionTimestamp"] = "2026-01-02T00:00:00Z"
	}
	if b.chance(0.05) {
		p["spec"].(object)["schedulingGates"] = []object{{"name": "example.com/wait"}}
	}
	return p
}

func (b *caseBuilder) queue(metadata, spec, status object) {
	switch b.IntN(8) {
	case 0:
		spec["schedulingGates"] = []object{{"name": "example.com/wait"}, {"name": "example.com/more"}}[:1+b.IntN(2)]
	case 1:
		spec["schedulerName"] = pick(b, "other", "default-scheduler", "second")
	case 2:
		status["phase"] = pick(b, "Succeeded", "Failed", "Running", "Pending", "Unknown")
	case 3:
		metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
		metadata["finalizers"] = []string{"example.com/keep"}
	case 4:
		status["nominatedNodeName"] = pick(b, "n01", "n02", "ghost")
	}
}

func (b *caseBuilder) tolerations() []object {
	var out []object
	for range b.IntN(4) {
		t := object{}
		if b.chance(0.85) {
			t["key"] = pick(b, "k1", "k2", "k3", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready")
		}
		switch {
		case t["key"] == nil || b.chance(0.4):
			t["operator"] = "Exists"
		default:
			if b.chance(0.5) {
				t["operator"] = "Equal"
			}
			if b.chance(0.8) {
				t["value"] = pick(b, "a", "b", "5", "10", "05")
			}
		}
		if b.chance(0.6) {
			t["effect"] = pick(b, "NoSchedule", "NoExecute", "PreferNoSchedule")
			if t["effect"] == "NoExecute" && b.chance(0.4) {
				t["tolerationSeconds"] = pick(b, 0, 300, -5)
			}
		}
		out = append(out, t)
	}
	if b.chance(0.2) {
		b.gates = map[string]bool{"TaintTolerationComparisonOperators": true}
		out = append(out, object{"key": pick(b, "k1", "k2"), "operator": pick(b, "Lt", "Gt"), "value": pick(b, "5", "7", "-1", "10")})
	}
	return out
}

func (b *caseBuilder) container(name string) object {
	c := object{"name": name, "image": "app:1"}
	if b.enabled["images"] {
		c["image"] = pick(b, imageNames...)
	}
	requests := object{}
	if b.chance(0.85) {
		requests["cpu"] = pick(b, "100m", "250m", "500m", "1")
	}
	if b.chance(0.85) {
		requests["memory"] = pick(b, "128Mi", "256Mi", "1Gi")
	}
	if b.enabled["resources"] {
		b.addUnusualRequests(requests)
	}
	if len(requests) > 0 {
		c["resources"] = object{"requests": requests}
	}
	return c
}

// addUnusualRequests adds requests that are zero, fractions, or of other resources.
func (b *caseBuilder) addUnusualRequests(requests object) {
	if b.chance(0.3) {
		requests["cpu"] = pick(b, "0", "1500u", "1", "2", "0.1", "1m", "3999m", "0.0005")
	}
	if b.chance(0.3) {
		requests["memory"] = pick(b, "0", "100", "1500M", "0.5Gi", "128Mi", "1", "100m", "4e9")
	}
	if b.chance(0.2) {
		requests["ephemeral-storage"] = pick(b, "0", "400M", "1Gi", "2Gi")
	}
	if b.chance(0.25) {
		requests[pick(b, "example.com/gpu", "example.com/fpga", "other.org/x")] = pick(b, "0", "1", "2")
	}
	if b.chance(0.1) {
		requests["hugepages-2Mi"] = pick(b, "2Mi", "4Mi")
	}
}

func (b *caseBuilder) containers(spec, status object, running bool) {
	var list, initContainers []object
	for i := range b.IntN(2) + 1 {
		list = append(list, b.container(fmt.Sprintf("c%d", i)))
	}
	if b.enabled["resources"] || b.chance(0.1) {
		for i := range b.IntN(3) {
			c := b.container(fmt.Sprintf("i%d", i))
			if b.chance(0.4) {
				c["restartPolicy"] = "Always"
			}
			initContainers = append(initContainers, c)
		}
		if b.chance(0.2) {
			spec["overhead"] = object{"cpu": pick(b, "50m", "250m"), "memory": pick(b, "64Mi", "0")}
		}
		if b.chance(0.15) {
			b.podLevel(spec)
		}
		if running && b.chance(0.25) {
			status["containerStatuses"] = b.resized(list)
		}
		if running && b.chance(0.1) {
			status["conditions"] = []object{{"type": "PodResizePending", "status": "True", "reason": pick(b, "Infeasible", "Deferred")}}
		}
	}
	spec["containers"] = list
	if len(initContainers) > 0 {
		spec["initContainers"] = initContainers
	}
}

func (b *caseBuilder) podLevel(spec object) {
	requests := object{}
	if b.chance(0.8) {
		requests["cpu"] = pick(b, "2", "3", "2500m")
	}
	if b.chance(0.7) {
		requests["memory"] = pick(b, "3Gi", "5Gi")
	}
	spec["resources"] = object{"requests": requests}
}

// resized returns statuses of containers whose resources were changed in place.
func (b *caseBuilder) resized(list []object) []object {
	var out []object
	for _, c := range list {
		if b.chance(0.2) {
			continue
		}
		s := object{"name": c["name"], "image": c["image"], "imageID": "", "ready": true, "restartCount": 0}
		if b.chance(0.8) {
			s["allocatedResources"] = object{"cpu": pick(b, "50m", "2", "700m"), "memory": pick(b, "64Mi", "2Gi")}
		}
		if b.chance(0.7) {
			s["resources"] = object{"requests": object{"cpu": pick(b, "50m", "2", "900m"), "memory": pick(b, "64Mi", "3Gi")}}
		}
		out = append(out, s)
	}
	return out
}
