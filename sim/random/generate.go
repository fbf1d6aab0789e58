package random

import (
	"fmt"
	"math/rand"
	"strings"
)

// generator writes a random scenario.
type generator struct {
	r     *rand.Rand
	lines []string
	nodes int  // number of written nodes
	pods  int  // number of written pods
	small bool // pods are small relative to nodes
	rules bool // pods have placement rules besides requests
}

// Generate returns a random scenario with n events.
func Generate(seed int64, n int) string {
	g := &generator{r: rand.New(rand.NewSource(seed))}
	g.small, g.rules = g.oneIn(3), !g.oneIn(3)
	g.writeOptions(seed)
	nodes := 1 + g.r.Intn(6)
	if g.oneIn(15) {
		nodes = 10 + g.r.Intn(25)
	}
	for range nodes {
		g.writeNode("")
	}
	g.writeClusterObjects()
	for range g.r.Intn(12) {
		g.writePod("")
	}
	at := 0
	for range n {
		switch g.r.Intn(10) {
		case 0:
			at += g.r.Intn(30_000)
		case 1, 2, 3:
			at += g.r.Intn(1500)
		default:
			at += g.r.Intn(20)
		}
		g.writeEvent(fmt.Sprintf("at %dms ", at))
	}
	g.add("", "until %dms", at+1000)
	return strings.Join(g.lines, "\n") + "\n"
}

func (g *generator) oneIn(n int) bool { return g.r.Intn(n) == 0 }

func (g *generator) pick(choices ...string) string { return choices[g.r.Intn(len(choices))] }

// add adds a line, which begins with at: "at TIME ", or "" for the start.
func (g *generator) add(at, format string, args ...any) {
	g.lines = append(g.lines, at+fmt.Sprintf(format, args...))
}

func (g *generator) writeOptions(seed int64) {
	if seed%8 == 7 { // one in eight has a descheduler; this uses no random numbers
		g.add("", "descheduler first=%ds every=%ds %s", 10+seed%20, 10+seed%50, []string{"", "ignoreholds", "compatible"}[seed/8%3])
	}
	faults := g.pick("0", "0", "0.05", "0.3")
	g.add("", "option seed=%d ties=%d faults=%s delays=%s repeats=%s maxdelay=%s lag=%s victims=90s decisions=%s settled", seed, seed%7, faults,
		g.pick("0", "0.1", "0.5"), g.pick("0", "0.1"), g.pick("100ms", "2s"), g.pick("1ms", "5ms", "300ms"), g.pick("1", "1", "1", "64"))
}

// writeClusterObjects writes the objects that pods refer to.
func (g *generator) writeClusterObjects() {
	if g.oneIn(2) {
		for i := range 1 + g.r.Intn(2) {
			g.writeBudget("", i)
		}
	}
	if g.oneIn(3) {
		g.writeWorkload("")
	}
	if g.rules && g.oneIn(4) {
		g.add("", "class local wait")
		for i := range 3 {
			g.add("", "volume v%d size=%dGi class=local node=n%d", i, 1+g.r.Intn(5), g.r.Intn(g.nodes))
			g.add("", "claim c%d size=%dGi class=local", i, 1+g.r.Intn(5))
		}
	}
}

func (g *generator) writeBudget(at string, i int) {
	g.add(at, "budget b%d match=app=%s %s%s", i, g.pick("a", "b"), g.pick("minAvailable=1", "minAvailable=2", "maxUnavailable=1", "maxUnavailable=0", "minAvailable=50%"),
		g.pick("", "", " always"))
}

// writeWorkload writes an owner managed by the workload controllers.
func (g *generator) writeWorkload(at string) {
	line := fmt.Sprintf("replicaset w%d replicas=%d", g.r.Intn(2), 1+g.r.Intn(4))
	switch g.r.Intn(8) {
	case 0, 1:
		line = "daemonset d0"
	case 2:
		line = fmt.Sprintf("statefulset s%d replicas=%d", g.r.Intn(2), 1+g.r.Intn(3))
	case 3:
		line = fmt.Sprintf("deployment e%d replicas=%d", g.r.Intn(2), 1+g.r.Intn(4))
	}
	g.add(at, "%s cpu=%dm memory=%dMi priority=%s labels=app=%s grace=%ds stops=%dms%s", line, 50+g.r.Intn(600), 64+g.r.Intn(600), g.pick("0", "5", "10"),
		g.pick("a", "b"), g.r.Intn(20), g.r.Intn(20_000), g.pick("", "", " starts=3s", " tolerate=out:NoExecute:20"))
}

func (g *generator) writeNode(at string) {
	line := fmt.Sprintf("node n%d cpu=%d memory=%dGi pods=%d labels=zone=%s,disk=%s", g.nodes, 1+g.r.Intn(4), 1+g.r.Intn(8), 2+g.r.Intn(8), g.pick("a", "b", "c"), g.pick("ssd", "hdd"))
	if g.oneIn(6) {
		line += " taints=dedicated=x:" + g.pick("NoSchedule", "PreferNoSchedule")
	}
	g.nodes++
	g.add(at, "%s", line)
}

// writePod writes a pod; its requests are in the order of a node's capacity, so that pods compete.
func (g *generator) writePod(at string) {
	line := fmt.Sprintf("pod p%d priority=%s labels=app=%s", g.pods, g.pick("0", "0", "5", "10", "100"), g.pick("a", "b", "c"))
	g.pods++
	if g.small {
		line += fmt.Sprintf(" cpu=%dm memory=%dMi", 50+g.r.Intn(400), 64+g.r.Intn(600))
	} else {
		line += fmt.Sprintf(" cpu=%dm memory=%dMi", 100+100*g.r.Intn(20), 128+g.r.Intn(2500))
	}
	if g.rules {
		line += g.randomRule()
	}
	if g.oneIn(3) {
		line += fmt.Sprintf(" runs=%dms restart=%s exit=%d", 100+g.r.Intn(60_000), g.pick("Never", "OnFailure", "Always"), g.r.Intn(2))
	}
	if g.oneIn(3) {
		line += fmt.Sprintf(" grace=%ds stops=%dms", g.r.Intn(40), g.r.Intn(50_000))
	}
	if g.oneIn(5) {
		line += " replace owner=" + g.pick("x", "y")
	} else if g.oneIn(3) {
		line += " owner=" + g.pick("x", "y")
	}
	g.add(at, "%s", line)
}

// randomRule returns a placement rule or "".
func (g *generator) randomRule() string {
	switch g.r.Intn(16) {
	case 0:
		return " selector=disk=" + g.pick("ssd", "hdd")
	case 1:
		return " tolerate=dedicated"
	case 2:
		return fmt.Sprintf(" spread=%s:%d:app=%s", g.pick("zone", "host"), 1+g.r.Intn(2), g.pick("a", "b"))
	case 3:
		return fmt.Sprintf(" spread=zone:1:soft:app=%s", g.pick("a", "b"))
	case 4:
		return fmt.Sprintf(" anti=%s:app=%s", g.pick("zone", "host"), g.pick("a", "b", "c"))
	case 5:
		return fmt.Sprintf(" affinity=%s:app=%s", g.pick("zone", "host"), g.pick("a", "b"))
	case 6:
		return fmt.Sprintf(" prefer-anti=host:app=%s", g.pick("a", "b"))
	case 7:
		return fmt.Sprintf(" ports=%d", 8000+g.r.Intn(3))
	case 8:
		return " never"
	case 9:
		return " gates=g"
	case 10:
		return fmt.Sprintf(" claims=c%d", g.r.Intn(3))
	}
	return ""
}
