package cases

import (
	"fmt"
)

// pod makes a running pod or a pending one.
func (w *caseBuilder) pod(name string, running bool) object {
	metadata := object{"name": name, "namespace": "default", "labels": w.podLabels()}
	if running && w.chance(0.25) {
		metadata["namespace"] = pick(w, "team-a", "team-b")
	}
	spec, status := object{"priority": pick(w, 0, 0, 5, 10, -1)}, object{}
	w.containers(spec, status, running)
	if running {
		w.run(metadata, spec, status)
	}
	if w.enabled["ports"] {
		w.ports(spec)
	}
	if w.enabled["podaffinity"] && (!running || w.chance(0.4)) {
		w.podAffinity(metadata, spec)
	}
	if w.enabled["volumes"] && (!running || w.chance(0.4)) {
		w.podVolumes(metadata, spec)
	}
	if !running || w.chance(0.1) {
		w.constrain(metadata, spec)
	}
	p := manifest("v1", "Pod", metadata)
	p["spec"], p["status"] = spec, status
	return p
}

func (w *caseBuilder) podLabels() object {
	labels := object{}
	if w.chance(0.9) {
		labels["app"] = pick(w, "web", "web", "db", "cache")
	}
	if w.chance(0.5) {
		labels["tier"] = pick(w, "a", "b")
	}
	if w.chance(0.4) {
		labels["version"] = pick(w, "1", "2", "")
	}
	return labels
}

// run puts a pod on a node. Some pods are completed or being deleted, or their node does not exist.
func (w *caseBuilder) run(metadata, spec, status object) {
	spec["nodeName"] = pick(w, w.nodes...)["metadata"].(object)["name"]
	status["startTime"] = "2026-01-01T00:01:40Z"
	status["phase"] = pick(w, "Running", "Running", "Running", "Pending")
	switch {
	case w.chance(0.05):
		status["phase"] = pick(w, "Succeeded", "Failed")
	case w.chance(0.08):
		metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = "2026-01-02T00:00:00Z", 30
	case w.chance(0.02):
		spec["nodeName"] = "ghost"
	}
}

// constrain adds tolerations, node affinity and topology spread constraints.
func (w *caseBuilder) constrain(metadata, spec object) {
	if w.enabled["taints"] {
		if w.chance(0.8) {
			spec["tolerations"] = w.tolerations()
		}
	}
	if w.enabled["nodeaffinity"] {
		w.nodeAffinity(spec)
	}
	if w.enabled["spread"] {
		w.spread(metadata, spec)
	}
}

func (w *caseBuilder) pending() object {
	p := w.pod("p", false)
	metadata, spec, status := p["metadata"].(object), p["spec"].(object), p["status"].(object)
	if w.enabled["nominated"] && w.chance(0.4) {
		status["nominatedNodeName"] = pick(w, "ghost", "n01", "n02", "n03")
	}
	if w.enabled["queue"] {
		w.queue(metadata, spec, status)
	}
	return p
}

// nominatedPod returns a pending pod that has preempted others on a node.
func (w *caseBuilder) nominatedPod(name string) object {
	p := w.pod(name, false)
	p["spec"].(object)["priority"] = pick(w, 0, 5, 5, 10, 100, -1)
	p["status"].(object)["nominatedNodeName"] = pick(w, "n01", "n02", "n03", "ghost", pick(w, w.nodes...)["metadata"].(object)["name"].(string))
	if w.chance(0.1) {
		p["spec"].(object)["schedulerName"] = "other"
	}
	if w.chance(0.1) {
		p["metadata"].(object)["deletionTimestamp"] = "2026-01-02T00:00:00Z"
	}
	if w.chance(0.05) {
		p["spec"].(object)["schedulingGates"] = []object{{"name": "example.com/wait"}}
	}
	return p
}

func (w *caseBuilder) queue(metadata, spec, status object) {
	switch w.IntN(8) {
	case 0:
		spec["schedulingGates"] = []object{{"name": "example.com/wait"}, {"name": "example.com/more"}}[:1+w.IntN(2)]
	case 1:
		spec["schedulerName"] = pick(w, "other", "default-scheduler", "second")
	case 2:
		status["phase"] = pick(w, "Succeeded", "Failed", "Running", "Pending", "Unknown")
	case 3:
		metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
		metadata["finalizers"] = []string{"example.com/keep"}
	case 4:
		status["nominatedNodeName"] = pick(w, "n01", "n02", "ghost")
	}
}

func (w *caseBuilder) tolerations() []object {
	var out []object
	for range w.IntN(4) {
		t := object{}
		if w.chance(0.85) {
			t["key"] = pick(w, "k1", "k2", "k3", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready")
		}
		switch {
		case t["key"] == nil || w.chance(0.4):
			t["operator"] = "Exists"
		default:
			if w.chance(0.5) {
				t["operator"] = "Equal"
			}
			if w.chance(0.8) {
				t["value"] = pick(w, "a", "b", "5", "10", "05")
			}
		}
		if w.chance(0.6) {
			t["effect"] = pick(w, "NoSchedule", "NoExecute", "PreferNoSchedule")
			if t["effect"] == "NoExecute" && w.chance(0.4) {
				t["tolerationSeconds"] = pick(w, 0, 300, -5)
			}
		}
		out = append(out, t)
	}
	if w.chance(0.2) {
		w.gates = map[string]bool{"TaintTolerationComparisonOperators": true}
		out = append(out, object{"key": pick(w, "k1", "k2"), "operator": pick(w, "Lt", "Gt"), "value": pick(w, "5", "7", "-1", "10")})
	}
	return out
}

func (w *caseBuilder) container(name string) object {
	c := object{"name": name, "image": "app:1"}
	if w.enabled["images"] {
		c["image"] = pick(w, imageNames...)
	}
	requests := object{}
	if w.chance(0.85) {
		requests["cpu"] = pick(w, "100m", "250m", "500m", "1")
	}
	if w.chance(0.85) {
		requests["memory"] = pick(w, "128Mi", "256Mi", "1Gi")
	}
	if w.enabled["resources"] {
		w.addUnusualRequests(requests)
	}
	if len(requests) > 0 {
		c["resources"] = object{"requests": requests}
	}
	return c
}

// addUnusualRequests adds requests that are zero, fractions, or of other resources.
func (w *caseBuilder) addUnusualRequests(requests object) {
	if w.chance(0.3) {
		requests["cpu"] = pick(w, "0", "1500u", "1", "2", "0.1", "1m", "3999m", "0.0005")
	}
	if w.chance(0.3) {
		requests["memory"] = pick(w, "0", "100", "1500M", "0.5Gi", "128Mi", "1", "100m", "4e9")
	}
	if w.chance(0.2) {
		requests["ephemeral-storage"] = pick(w, "0", "400M", "1Gi", "2Gi")
	}
	if w.chance(0.25) {
		requests[pick(w, "example.com/gpu", "example.com/fpga", "other.org/x")] = pick(w, "0", "1", "2")
	}
	if w.chance(0.1) {
		requests["hugepages-2Mi"] = pick(w, "2Mi", "4Mi")
	}
}

func (w *caseBuilder) containers(spec, status object, running bool) {
	var list, first []object
	for i := range w.IntN(2) + 1 {
		list = append(list, w.container(fmt.Sprintf("c%d", i)))
	}
	if w.enabled["resources"] || w.chance(0.1) {
		for i := range w.IntN(3) {
			c := w.container(fmt.Sprintf("i%d", i))
			if w.chance(0.4) {
				c["restartPolicy"] = "Always"
			}
			first = append(first, c)
		}
		if w.chance(0.2) {
			spec["overhead"] = object{"cpu": pick(w, "50m", "250m"), "memory": pick(w, "64Mi", "0")}
		}
		if w.chance(0.15) {
			w.podLevel(spec)
		}
		if running && w.chance(0.25) {
			status["containerStatuses"] = w.resized(list)
		}
		if running && w.chance(0.1) {
			status["conditions"] = []object{{"type": "PodResizePending", "status": "True", "reason": pick(w, "Infeasible", "Deferred")}}
		}
	}
	spec["containers"] = list
	if len(first) > 0 {
		spec["initContainers"] = first
	}
}

func (w *caseBuilder) podLevel(spec object) {
	requests := object{}
	if w.chance(0.8) {
		requests["cpu"] = pick(w, "2", "3", "2500m")
	}
	if w.chance(0.7) {
		requests["memory"] = pick(w, "3Gi", "5Gi")
	}
	spec["resources"] = object{"requests": requests}
}

// resized returns statuses of containers whose resources were changed in place.
func (w *caseBuilder) resized(list []object) []object {
	var out []object
	for _, c := range list {
		if w.chance(0.2) {
			continue
		}
		s := object{"name": c["name"], "image": c["image"], "imageID": "", "ready": true, "restartCount": 0}
		if w.chance(0.8) {
			s["allocatedResources"] = object{"cpu": pick(w, "50m", "2", "700m"), "memory": pick(w, "64Mi", "2Gi")}
		}
		if w.chance(0.7) {
			s["resources"] = object{"requests": object{"cpu": pick(w, "50m", "2", "900m"), "memory": pick(w, "64Mi", "3Gi")}}
		}
		out = append(out, s)
	}
	return out
}
