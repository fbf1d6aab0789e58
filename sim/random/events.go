package random

import "fmt"

// writeEvent writes a random event.
func (g *generator) writeEvent(at string) {
	switch n := g.r.Intn(100); {
	case n < 42:
		g.writePod(at)
	case n < 54:
		g.writeDelete(at)
	case n < 62:
		g.writeDisplacement(at)
	case n < 80:
		g.writeNodeEvent(at)
	case n < 88:
		g.writePodEvent(at)
	default:
		g.writeFault(at)
	}
}

// randomPod returns a pod name, preferably a recent one.
func (g *generator) randomPod() string {
	if g.pods == 0 {
		return "p0"
	}
	return fmt.Sprintf("p%d", max(0, g.pods-1-g.r.Intn(min(g.pods, 20))))
}

func (g *generator) randomNode() string { return fmt.Sprintf("n%d", g.r.Intn(g.nodes)) }

func (g *generator) writeDelete(at string) {
	line := "delete pod " + g.randomPod()
	if g.oneIn(3) {
		line += fmt.Sprintf(" grace=%ds", g.r.Intn(5))
	}
	g.add(at, "%s", line)
}

// writeDisplacement writes an event that displaces pods without the scheduler.
func (g *generator) writeDisplacement(at string) {
	switch g.r.Intn(8) {
	case 0:
		g.add(at, "drain %s", g.randomNode())
	case 1:
		g.add(at, "taint %s out=x:NoExecute", g.randomNode())
	case 2:
		g.add(at, "untaint %s out", g.randomNode())
	case 3:
		g.add(at, "condition %s %s=%s", g.randomNode(), g.pick("Ready", "Ready", "DiskPressure", "MemoryPressure"), g.pick("True", "False"))
	case 4:
		g.add(at, "tolerate %s out:NoExecute:%d", g.randomPod(), g.r.Intn(60))
	default:
		g.add(at, "evict %s", g.randomPod())
	}
}

func (g *generator) writeNodeEvent(at string) {
	n := g.randomNode()
	switch g.r.Intn(10) {
	case 0:
		g.writeNode(at)
	case 1:
		if g.oneIn(3) {
			g.add(at, "delete node %s", n)
		} else {
			g.add(at, "uncordon %s", n)
		}
	case 2:
		g.add(at, "cordon %s", n)
	case 3, 4:
		g.add(at, "uncordon %s", n)
	case 5:
		g.add(at, "taint %s dedicated=x:%s", n, g.pick("NoSchedule", "PreferNoSchedule"))
	case 6:
		g.add(at, "untaint %s dedicated", n)
	case 7:
		g.add(at, "label node %s %s", n, g.pick("disk=ssd", "disk=hdd", "zone=a", "zone=b"))
	case 8:
		g.add(at, "resize %s cpu=%d memory=%dGi", n, 1+g.r.Intn(5), 1+g.r.Intn(8))
	default:
		g.add(at, "%s agent %s", g.pick("start", "start", "kill"), n)
	}
}

// writePodEvent writes an event of a pod, a workload or a budget.
func (g *generator) writePodEvent(at string) {
	switch g.r.Intn(7) {
	case 0:
		g.add(at, "ungate %s", g.randomPod())
	case 1:
		g.add(at, "label pod %s app=%s", g.randomPod(), g.pick("a", "b", "c"))
	case 2:
		g.add(at, "bind %s %s", g.randomPod(), g.randomNode())
	case 3:
		g.add(at, "delete budget b%d", g.r.Intn(2))
	case 4:
		g.writeBudget(at, g.r.Intn(2))
	case 5:
		if g.oneIn(3) {
			g.add(at, "image e%d v%d", g.r.Intn(2), g.r.Intn(4))
		} else {
			g.add(at, "scale %s%d %d", g.pick("w", "e"), g.r.Intn(2), g.r.Intn(6))
		}
	case 6:
		g.writeWorkload(at)
	}
}

func (g *generator) writeFault(at string) {
	switch g.r.Intn(8) {
	case 0:
		g.add(at, "kill scheduler for %dms", g.r.Intn(3000))
	case 1:
		g.add(at, "drop scheduler %s for %dms", g.pick("pods", "pods", "nodes", "poddisruptionbudgets"), g.r.Intn(5000))
	case 2:
		g.add(at, "drop %s pods for %dms", g.pick("agents", "disruption", "owners", "taints", "nodelifecycle", "podgc", "records", "workload"), g.r.Intn(5000))
	case 3:
		g.add(at, "repeat scheduler %s", g.pick("pods", "nodes"))
	case 4:
		g.add(at, "kill %s for %dms", g.pick("disruption", "disruption", "taints", "nodelifecycle", "podgc", "records", "workload"), g.r.Intn(3000))
	case 5:
		g.add(at, "lag %s %dms", g.pick("scheduler", "agents", "disruption", "taints", "nodelifecycle", "podgc", "records", "workload"), g.r.Intn(1000))
	default:
		g.add(at, "fault %s %s", g.pick("refuse", "conflict", "requestlost", "responselost", "delayed", "unanswered", "partial"),
			g.pick("bind", "bind", "preempt", "unschedulable", "refresh", "clearnomination", "bindvolumes", "any", "evict", "disruptiontarget", "event", "delete", "status", "node"))
	}
}
