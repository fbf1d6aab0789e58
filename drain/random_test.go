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

func (d *generator) add(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}
func (d *generator) chance(n int) bool             { return d.r.Intn(n) == 0 }
func (d *generator) pick(choices ...string) string { return choices[d.r.Intn(len(choices))] }

// generate generates a cluster from a seed.
func generate(seed int64) *generator {
	d := &generator{r: rand.New(rand.NewSource(seed))}
	d.add("option seed=%d ties=%d lag=%s delays=%s maxdelay=%s decisions=%s", seed, seed%7, d.pick("1ms", "5ms", "200ms"), d.pick("0", "0.3"), d.pick("100ms", "700ms"), d.pick("1", "64"))
	d.nodes = 3 + d.r.Intn(8)
	for i := range d.nodes {
		taint := ""
		if d.chance(8) {
			taint = " taints=dedicated=x:NoSchedule"
		}
		d.add("node n%d cpu=%d memory=%dGi pods=%d labels=zone=%s,disk=%s%s", i, 2+d.r.Intn(6), 4+d.r.Intn(12), 6+d.r.Intn(20), d.pick("a", "b", "c"), d.pick("ssd", "hdd"), taint)
	}
	if d.chance(3) {
		d.add("class local wait")
		for i := range 3 {
			d.add("volume v%d size=5Gi class=local node=n%d", i, d.r.Intn(d.nodes))
			d.add("claim c%d size=%dGi class=local", i, 1+d.r.Intn(5))
		}
	}
	for i := range 2 + d.r.Intn(7) {
		d.app(i)
	}
	for i := range 1 + d.r.Intn(min(3, d.nodes-1)) {
		d.drain = append(d.drain, fmt.Sprintf("n%d", i))
	}
	return d
}

// app adds a workload, with or without a budget. Its pods take longer to terminate than
// replacements to be scheduled.
func (d *generator) app(i int) {
	options := fmt.Sprintf(" priority=%s labels=app=a%d,tier=%s cpu=%dm memory=%dMi grace=%ds stops=%dms", d.pick("0", "0", "0", "5", "100"), i,
		d.pick("x", "y"), 50+d.r.Intn(1500), 64+d.r.Intn(2000), 4+d.r.Intn(30), 3500+d.r.Intn(20_000))
	options += d.rule(i)
	n := 1 + d.r.Intn(6)
	d.add("at %dms replicaset a%d replicas=%d%s", d.r.Intn(3000), i, n, options)
	if d.chance(2) {
		d.add("budget b%d match=app=a%d %s", i, i, d.limit(n))
	}
	if d.chance(8) {
		d.add("budget t%d match=tier=%s %s", i, d.pick("x", "y"), d.limit(n))
	}
}

func (d *generator) limit(n int) string {
	return d.pick("maxUnavailable=1", "maxUnavailable=1", "maxUnavailable=2", "maxUnavailable=0", "maxUnavailable=30%", "minAvailable=1", "minAvailable=50%",
		fmt.Sprintf("minAvailable=%d", n), fmt.Sprintf("minAvailable=%d", max(n-1, 0)))
}

// rule returns a random placement rule, or none.
func (d *generator) rule(app int) string {
	app -= d.r.Intn(2) // the rule refers to this app or the previous one
	switch d.r.Intn(16) {
	case 0:
		return " selector=disk=" + d.pick("ssd", "hdd")
	case 1:
		return " tolerate=dedicated"
	case 2:
		return fmt.Sprintf(" spread=%s:%d:app=a%d", d.pick("zone", "host"), 1+d.r.Intn(2), app)
	case 3:
		return fmt.Sprintf(" spread=zone:1:soft:app=a%d", app)
	case 4:
		return fmt.Sprintf(" anti=%s:app=a%d", d.pick("zone", "host"), app)
	case 5:
		return fmt.Sprintf(" affinity=%s:app=a%d", d.pick("zone", "host"), app)
	case 6:
		return fmt.Sprintf(" prefer-anti=%s:app=a%d", d.pick("zone", "host"), app)
	case 7:
		return fmt.Sprintf(" ports=%d", 8000+d.r.Intn(3))
	case 8:
		return " never"
	case 9:
		return " tolerate=*"
	case 10:
		return fmt.Sprintf(" claims=c%d", d.r.Intn(3))
	}
	return ""
}

func (d *generator) text() string { return strings.Join(d.lines, "\n") + "\n" }
