package drain_test

import (
	"fmt"
	"math/rand"
	"strings"
)

// generator is a random cluster: the text of a scenario, and the nodes to drain.
type generator struct {
	r     *rand.Rand
	lines []string
	nodes int
	drain []string
}

func (g *generator) add(format string, args ...any) {
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

// chance returns true with a probability of 1/n.
func (g *generator) chance(n int) bool { return g.r.Intn(n) == 0 }

func (g *generator) pick(choices ...string) string { return choices[g.r.Intn(len(choices))] }

// generate returns a random cluster.
func generate(seed int64) *generator {
	g := &generator{r: rand.New(rand.NewSource(seed))}
	g.add("option seed=%d ties=%d lag=%s delays=%s maxdelay=%s decisions=%s", seed, seed%7, g.pick("1ms", "5ms", "200ms"), g.pick("0", "0.3"), g.pick("100ms", "700ms"), g.pick("1", "64"))
	g.nodes = 3 + g.r.Intn(8)
	for i := range g.nodes {
		taint := ""
		if g.chance(8) {
			taint = " taints=dedicated=x:NoSchedule"
		}
		g.add("node n%d cpu=%d memory=%dGi pods=%d labels=zone=%s,disk=%s%s", i, 2+g.r.Intn(6), 4+g.r.Intn(12), 6+g.r.Intn(20), g.pick("a", "b", "c"), g.pick("ssd", "hdd"), taint)
	}
	if g.chance(3) {
		g.add("class local wait")
		for i := range 3 {
			g.add("volume v%d size=5Gi class=local node=n%d", i, g.r.Intn(g.nodes))
			g.add("claim c%d size=%dGi class=local", i, 1+g.r.Intn(5))
		}
	}
	for i := range 2 + g.r.Intn(7) {
		g.app(i)
	}
	for i := range 1 + g.r.Intn(min(3, g.nodes-1)) {
		g.drain = append(g.drain, fmt.Sprintf("n%d", i))
	}
	return g
}

// app adds a workload, with or without a budget. Its pods take longer to terminate than
// replacements to be scheduled.
func (g *generator) app(i int) {
	options := fmt.Sprintf(" priority=%s labels=app=a%d,tier=%s cpu=%dm memory=%dMi grace=%ds stops=%dms", g.pick("0", "0", "0", "5", "100"), i,
		g.pick("x", "y"), 50+g.r.Intn(1500), 64+g.r.Intn(2000), 4+g.r.Intn(30), 3500+g.r.Intn(20_000))
	options += g.rule(i)
	n := 1 + g.r.Intn(6)
	g.add("at %dms replicaset a%d replicas=%d%s", g.r.Intn(3000), i, n, options)
	if g.chance(2) {
		g.add("budget b%d match=app=a%d %s", i, i, g.limit(n))
	}
	if g.chance(8) {
		g.add("budget t%d match=tier=%s %s", i, g.pick("x", "y"), g.limit(n))
	}
}

func (g *generator) limit(n int) string {
	return g.pick("maxUnavailable=1", "maxUnavailable=1", "maxUnavailable=2", "maxUnavailable=0", "maxUnavailable=30%", "minAvailable=1", "minAvailable=50%",
		fmt.Sprintf("minAvailable=%d", n), fmt.Sprintf("minAvailable=%d", max(n-1, 0)))
}

// rule returns a random placement rule, or none.
func (g *generator) rule(app int) string {
	app -= g.r.Intn(2) // the rule refers to this app or the previous one
	switch g.r.Intn(16) {
	case 0:
		return " selector=disk=" + g.pick("ssd", "hdd")
	case 1:
		return " tolerate=dedicated"
	case 2:
		return fmt.Sprintf(" spread=%s:%d:app=a%d", g.pick("zone", "host"), 1+g.r.Intn(2), app)
	case 3:
		return fmt.Sprintf(" spread=zone:1:soft:app=a%d", app)
	case 4:
		return fmt.Sprintf(" anti=%s:app=a%d", g.pick("zone", "host"), app)
	case 5:
		return fmt.Sprintf(" affinity=%s:app=a%d", g.pick("zone", "host"), app)
	case 6:
		return fmt.Sprintf(" prefer-anti=%s:app=a%d", g.pick("zone", "host"), app)
	case 7:
		return fmt.Sprintf(" ports=%d", 8000+g.r.Intn(3))
	case 8:
		return " never"
	case 9:
		return " tolerate=*"
	case 10:
		return fmt.Sprintf(" claims=c%d", g.r.Intn(3))
	}
	return ""
}

func (g *generator) text() string { return strings.Join(g.lines, "\n") + "\n" }
