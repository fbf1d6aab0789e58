package cases

import (
	"fmt"
)

// pod makes one that runs somewhere, or one that waits.
func (w *world) pod(name string, running bool) object {
	metadata := object{"name": name, "namespace": "default", "labels": w.podLabels()}
	if running && w.chance(0.25) {
		metadata["namespace"] = one(w, "team-a", "team-b")
	}
	spec, status := object{"priority": one(w, 0, 0, 5, 10, -1)}, object{}
	w.containers(spec, status, running)
	if running {
		w.run(metadata, spec, status)
	}
	if w.inPlay["ports"] {
		w.ports(spec)
	}
	if w.inPlay["podaffinity"] && (!running || w.chance(0.4)) {
		w.podAffinity(metadata, spec)
	}
	if w.inPlay["volumes"] && (!running || w.chance(0.4)) {
		w.podVolumes(metadata, spec)
	}
	if !running || w.chance(0.1) {
		w.constrain(metadata, spec)
	}
	p := manifest("v1", "Pod", metadata)
	p["spec"], p["status"] = spec, status
	return p
}

func (w *world) podLabels() object {
	labels := object{}
	if w.chance(0.9) {
		labels["app"] = one(w, "web", "web", "db", "cache")
	}
	if w.chance(0.5) {
		labels["tier"] = one(w, "a", "b")
	}
	if w.chance(0.4) {
		labels["version"] = one(w, "1", "2", "")
	}
	return labels
}

// run puts a pod on a node; some are finished, being deleted, or elsewhere.
func (w *world) run(metadata, spec, status object) {
	spec["nodeName"] = one(w, w.nodes...)["metadata"].(object)["name"]
	status["startTime"] = "2026-01-01T00:01:40Z"
	status["phase"] = one(w, "Running", "Running", "Running", "Pending")
	switch {
	case w.chance(0.05):
		status["phase"] = one(w, "Succeeded", "Failed")
	case w.chance(0.08):
		metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = "2026-01-02T00:00:00Z", 30
	case w.chance(0.02):
		spec["nodeName"] = "ghost"
	}
}

// constrain adds what only matters to a pod that is being placed.
func (w *world) constrain(metadata, spec object) {
	if w.inPlay["taints"] {
		if w.chance(0.8) {
			spec["tolerations"] = w.tolerations()
		}
	}
	if w.inPlay["nodeaffinity"] {
		w.nodeAffinity(spec)
	}
	if w.inPlay["spread"] {
		w.spread(metadata, spec)
	}
}

func (w *world) pending() object {
	p := w.pod("p", false)
	metadata, spec, status := p["metadata"].(object), p["spec"].(object), p["status"].(object)
	if w.inPlay["nominated"] && w.chance(0.4) {
		status["nominatedNodeName"] = one(w, "ghost", "n01", "n02", "n03")
	}
	if w.inPlay["queue"] {
		w.queue(metadata, spec, status)
	}
	return p
}

// nominee is a pod that waits for a node which was made free for it.
func (w *world) nominee(name string) object {
	p := w.pod(name, false)
	p["spec"].(object)["priority"] = one(w, 0, 5, 5, 10, 100, -1)
	p["status"].(object)["nominatedNodeName"] = one(w, "n01", "n02", "n03", "ghost", one(w, w.nodes...)["metadata"].(object)["name"].(string))
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

func (w *world) queue(metadata, spec, status object) {
	switch w.IntN(8) {
	case 0:
		spec["schedulingGates"] = []object{{"name": "example.com/wait"}, {"name": "example.com/more"}}[:1+w.IntN(2)]
	case 1:
		spec["schedulerName"] = one(w, "other", "default-scheduler", "second")
	case 2:
		status["phase"] = one(w, "Succeeded", "Failed", "Running", "Pending", "Unknown")
	case 3:
		metadata["deletionTimestamp"] = "2026-01-02T00:00:00Z"
		metadata["finalizers"] = []string{"example.com/keep"}
	case 4:
		status["nominatedNodeName"] = one(w, "n01", "n02", "ghost")
	}
}

func (w *world) tolerations() []object {
	var out []object
	for range w.IntN(4) {
		t := object{}
		if w.chance(0.85) {
			t["key"] = one(w, "k1", "k2", "k3", "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready")
		}
		switch {
		case t["key"] == nil || w.chance(0.4):
			t["operator"] = "Exists"
		default:
			if w.chance(0.5) {
				t["operator"] = "Equal"
			}
			if w.chance(0.8) {
				t["value"] = one(w, "a", "b", "5", "10", "05")
			}
		}
		if w.chance(0.6) {
			t["effect"] = one(w, "NoSchedule", "NoExecute", "PreferNoSchedule")
			if t["effect"] == "NoExecute" && w.chance(0.4) {
				t["tolerationSeconds"] = one(w, 0, 300, -5)
			}
		}
		out = append(out, t)
	}
	if w.chance(0.2) {
		w.gates = map[string]bool{"TaintTolerationComparisonOperators": true}
		out = append(out, object{"key": one(w, "k1", "k2"), "operator": one(w, "Lt", "Gt"), "value": one(w, "5", "7", "-1", "10")})
	}
	return out
}

func (w *world) container(name string) object {
	c := object{"name": name, "image": "app:1"}
	if w.inPlay["images"] {
		c["image"] = one(w, imageNames...)
	}
	requests := object{}
	if w.chance(0.85) {
		requests["cpu"] = one(w, "100m", "250m", "500m", "1")
	}
	if w.chance(0.85) {
		requests["memory"] = one(w, "128Mi", "256Mi", "1Gi")
	}
	if w.inPlay["resources"] {
		w.odd(requests)
	}
	if len(requests) > 0 {
		c["resources"] = object{"requests": requests}
	}
	return c
}

// odd makes requests that are zero, fractions, or of other resources.
func (w *world) odd(requests object) {
	if w.chance(0.3) {
		requests["cpu"] = one(w, "0", "1500u", "1", "2", "0.1", "1m", "3999m", "0.0005")
	}
	if w.chance(0.3) {
		requests["memory"] = one(w, "0", "100", "1500M", "0.5Gi", "128Mi", "1", "100m", "4e9")
	}
	if w.chance(0.2) {
		requests["ephemeral-storage"] = one(w, "0", "400M", "1Gi", "2Gi")
	}
	if w.chance(0.25) {
		requests[one(w, "example.com/gpu", "example.com/fpga", "other.org/x")] = one(w, "0", "1", "2")
	}
	if w.chance(0.1) {
		requests["hugepages-2Mi"] = one(w, "2Mi", "4Mi")
	}
}

func (w *world) containers(spec, status object, running bool) {
	var list, first []object
	for i := range w.IntN(2) + 1 {
		list = append(list, w.container(fmt.Sprintf("c%d", i)))
	}
	if w.inPlay["resources"] || w.chance(0.1) {
		for i := range w.IntN(3) {
			c := w.container(fmt.Sprintf("i%d", i))
			if w.chance(0.4) {
				c["restartPolicy"] = "Always"
			}
			first = append(first, c)
		}
		if w.chance(0.2) {
			spec["overhead"] = object{"cpu": one(w, "50m", "250m"), "memory": one(w, "64Mi", "0")}
		}
		if w.chance(0.15) {
			w.podLevel(spec)
		}
		if running && w.chance(0.25) {
			status["containerStatuses"] = w.resized(list)
		}
		if running && w.chance(0.1) {
			status["conditions"] = []object{{"type": "PodResizePending", "status": "True", "reason": one(w, "Infeasible", "Deferred")}}
		}
	}
	spec["containers"] = list
	if len(first) > 0 {
		spec["initContainers"] = first
	}
}

func (w *world) podLevel(spec object) {
	requests := object{}
	if w.chance(0.8) {
		requests["cpu"] = one(w, "2", "3", "2500m")
	}
	if w.chance(0.7) {
		requests["memory"] = one(w, "3Gi", "5Gi")
	}
	spec["resources"] = object{"requests": requests}
}

// resized are statuses of containers whose resources were changed in place.
func (w *world) resized(list []object) []object {
	var out []object
	for _, c := range list {
		if w.chance(0.2) {
			continue
		}
		s := object{"name": c["name"], "image": c["image"], "imageID": "", "ready": true, "restartCount": 0}
		if w.chance(0.8) {
			s["allocatedResources"] = object{"cpu": one(w, "50m", "2", "700m"), "memory": one(w, "64Mi", "2Gi")}
		}
		if w.chance(0.7) {
			s["resources"] = object{"requests": object{"cpu": one(w, "50m", "2", "900m"), "memory": one(w, "64Mi", "3Gi")}}
		}
		out = append(out, s)
	}
	return out
}
