package cases

import "fmt"

// addPreemption makes it likely that the last pod must preempt: most pods have a lower priority.
// The others started at different times and have budgets. Some are being deleted.
func (b *caseBuilder) addPreemption() {
	pending := b.pods[len(b.pods)-1]
	spec, status := pending["spec"].(object), pending["status"].(object)
	spec["priority"] = pick(b, 5, 10, 100, 100, 1000)
	if b.chance(0.05) {
		spec["preemptionPolicy"] = pick(b, "Never", "PreemptLowerPriority")
	}
	if b.chance(0.15) {
		status["nominatedNodeName"] = pick(b, "n01", "n02", "ghost")
	}
	list := spec["containers"].([]object)
	list[0]["resources"] = object{"requests": object{"cpu": pick(b, "1", "2", "3", "4"), "memory": pick(b, "1Gi", "2Gi", "0")}}
	for i := range b.IntN(40) * b.scale {
		b.pods = append(b.pods[:len(b.pods)-1], b.pod(fmt.Sprintf("c%02d", i+1), true), pending)
	}
	seconds := map[any]int{} // different start times on a node: otherwise their order would be random
	for _, p := range b.pods[:len(b.pods)-1] {
		node := p["spec"].(object)["nodeName"]
		if node == nil {
			continue
		}
		seconds[node] += b.IntN(2) + 1
		p["spec"].(object)["priority"] = pick(b, -1, 0, 0, 5, 5, 10, 100)
		p["status"].(object)["startTime"] = fmt.Sprintf("2026-01-01T00:%02d:%02dZ", seconds[node]/60, seconds[node]%60)
		if p["metadata"].(object)["deletionTimestamp"] != nil && b.chance(0.7) {
			p["status"].(object)["conditions"] = []object{{"type": "DisruptionTarget", "status": pick(b, "True", "True", "False"),
				"reason": pick(b, "PreemptionByScheduler", "PreemptionByScheduler", "DeletionByTaintManager")}}
		}
	}
	for i := range b.IntN(4) {
		b.others = append(b.others, b.budget(fmt.Sprintf("b%d", i+1)))
	}
}

func (b *caseBuilder) budget(name string) object {
	out := manifest("policy/v1", "PodDisruptionBudget", object{"name": name, "namespace": pick(b, "default", "default", "team-a")})
	if b.chance(0.9) {
		selector := object{}
		switch b.IntN(4) {
		case 0:
		case 1:
			selector["matchExpressions"] = []object{{"key": pick(b, "tier", "version"), "operator": pick(b, "Exists", "DoesNotExist")}}
		default:
			selector["matchLabels"] = object{"app": pick(b, "web", "db")}
		}
		out["spec"] = object{"selector": selector}
	}
	status := object{"disruptionsAllowed": b.IntN(4), "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3}
	if b.chance(0.3) {
		disrupted := object{}
		for range b.IntN(3) + 1 {
			disrupted[fmt.Sprintf("%s%02d", pick(b, "r", "c"), b.IntN(12)+1)] = "2026-01-01T00:00:00Z"
		}
		status["disruptedPods"] = disrupted
	}
	out["status"] = status
	return out
}
