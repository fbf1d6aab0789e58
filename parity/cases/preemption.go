package cases

import "fmt"

// addPreemption makes it likely that the last pod must preempt: most pods have a lower priority.
// The others started at different times and have budgets. Some are being deleted.
func (w *caseBuilder) addPreemption() {
	pending := w.pods[len(w.pods)-1]
	spec, status := pending["spec"].(object), pending["status"].(object)
	spec["priority"] = pick(w, 5, 10, 100, 100, 1000)
	if w.chance(0.05) {
		spec["preemptionPolicy"] = pick(w, "Never", "PreemptLowerPriority")
	}
	if w.chance(0.15) {
		status["nominatedNodeName"] = pick(w, "n01", "n02", "ghost")
	}
	list := spec["containers"].([]object)
	list[0]["resources"] = object{"requests": object{"cpu": pick(w, "1", "2", "3", "4"), "memory": pick(w, "1Gi", "2Gi", "0")}}
	for i := range w.IntN(40) * w.scale {
		w.pods = append(w.pods[:len(w.pods)-1], w.pod(fmt.Sprintf("c%02d", i+1), true), pending)
	}
	seconds := map[any]int{} // different start times on a node: otherwise their order would be random
	for _, p := range w.pods[:len(w.pods)-1] {
		node := p["spec"].(object)["nodeName"]
		if node == nil {
			continue
		}
		seconds[node] += w.IntN(2) + 1
		p["spec"].(object)["priority"] = pick(w, -1, 0, 0, 5, 5, 10, 100)
		p["status"].(object)["startTime"] = fmt.Sprintf("2026-01-01T00:%02d:%02dZ", seconds[node]/60, seconds[node]%60)
		if p["metadata"].(object)["deletionTimestamp"] != nil && w.chance(0.7) {
			p["status"].(object)["conditions"] = []object{{"type": "DisruptionTarget", "status": pick(w, "True", "True", "False"),
				"reason": pick(w, "PreemptionByScheduler", "PreemptionByScheduler", "DeletionByTaintManager")}}
		}
	}
	for i := range w.IntN(4) {
		w.others = append(w.others, w.budget(fmt.Sprintf("b%d", i+1)))
	}
}

func (w *caseBuilder) budget(name string) object {
	b := manifest("policy/v1", "PodDisruptionBudget", object{"name": name, "namespace": pick(w, "default", "default", "team-a")})
	if w.chance(0.9) {
		selector := object{}
		switch w.IntN(4) {
		case 0:
		case 1:
			selector["matchExpressions"] = []object{{"key": pick(w, "tier", "version"), "operator": pick(w, "Exists", "DoesNotExist")}}
		default:
			selector["matchLabels"] = object{"app": pick(w, "web", "db")}
		}
		b["spec"] = object{"selector": selector}
	}
	status := object{"disruptionsAllowed": w.IntN(4), "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3}
	if w.chance(0.3) {
		disrupted := object{}
		for range w.IntN(3) + 1 {
			disrupted[fmt.Sprintf("%s%02d", pick(w, "r", "c"), w.IntN(12)+1)] = "2026-01-01T00:00:00Z"
		}
		status["disruptedPods"] = disrupted
	}
	b["status"] = status
	return b
}
