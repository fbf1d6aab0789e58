package random

import (
	"cmp"
	"fmt"
	"math/rand"
	"strings"
)

// generator writes a random scenario.
type generator struct {
	r     *rand.Rand
	lines []string
	nodes int    // number of written nodes
	pods  int    // number of written pods
	it    string // the node that {choosenode} chose
	small bool   // pods are small relative to nodes
	rules bool   // pods have placement rules besides requests
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
		g.add(g.expand("{newnode}"))
	}
	g.writeClusterObjects()
	for range g.r.Intn(12) {
		g.add(g.newPod())
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
		g.add(fmt.Sprintf("at %dms %s", at, g.expand("{event}")))
	}
	g.add(fmt.Sprintf("until %dms", at+1000))
	return strings.Join(g.lines, "\n") + "\n"
}

func (g *generator) oneIn(n int) bool { return g.r.Intn(n) == 0 }

func (g *generator) add(line string) { g.lines = append(g.lines, line) }

func (g *generator) writeOptions(seed int64) {
	if seed%8 == 7 { // one in eight has a descheduler; this uses no random numbers
		g.add(fmt.Sprintf("descheduler first=%ds every=%ds %s", 10+seed%20, 10+seed%50, []string{"", "ignoreholds", "compatible"}[seed/8%3]))
	}
	g.add(fmt.Sprintf("option seed=%d ties=%d ", seed, seed%7) + g.expand("{options}"))
}

// writeClusterObjects writes the objects that pods refer to.
func (g *generator) writeClusterObjects() {
	if g.oneIn(2) {
		for i := range 1 + g.r.Intn(2) {
			g.add(fmt.Sprintf("budget b%d ", i) + g.expand("{budget}"))
		}
	}
	if g.oneIn(3) {
		g.add(g.newWorkload())
	}
	if g.rules && g.oneIn(4) {
		g.add("class local wait")
		for i := range 3 {
			g.add(fmt.Sprintf("volume v%d", i) + g.expand(" size={1..5}Gi class=local node={node}"))
			g.add(fmt.Sprintf("claim c%d", i) + g.expand(" size={1..5}Gi class=local"))
		}
	}
}

// newWorkload returns the line of an owner managed by the workload controllers.
func (g *generator) newWorkload() string {
	replicaSet := g.expand("{replicaset}")
	return cmp.Or(g.expand("{otherworkload}"), replicaSet) + g.expand("{workloadwords}")
}

// newPod returns the line of a pod.
func (g *generator) newPod() string {
	line := fmt.Sprintf("pod p%d", g.pods) + g.expand("{podwords}")
	g.pods++
	if g.small {
		line += g.expand("{small}")
	} else {
		line += g.expand("{large}")
	}
	if g.rules {
		line += g.expand("{placement}")
	}
	return line + g.expand("{lifecycle}")
}
