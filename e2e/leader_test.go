package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
)

// The lease durations of these tests: short, so that a takeover is fast, but long enough
// for a leader on a busy machine to renew.
const (
	leaseDuration = 10 * time.Second
	renewDeadline = 8 * time.Second
	retryPeriod   = 500 * time.Millisecond
)

// TestTwoSchedulers checks that the second of two schedulers takes over when the leader is killed, but
// not before the lease has expired. All components run separately, each with its own credential.
func TestTwoSchedulers(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.server()
	startComponents(c)
	credential := c.credential("scheduler", "--for", "scheduler")
	scheduler := func() *process {
		return h.start("scheduler", "--kubeconfig", credential, "--leader-elect-lease-duration", leaseDuration.String(),
			"--leader-elect-renew-deadline", renewDeadline.String(), "--leader-elect-retry-period", retryPeriod.String())
	}
	first := scheduler()
	first.waitForOutput("self=true")
	second := scheduler()
	second.waitForOutput("self=false")
	c.runPods("before")
	leader := c.lease()

	first.kill()
	killed := time.Now()
	for i := range 10 { // pods that wait for the new leader
		c.mustKubectl("run", fmt.Sprintf("during-%d", i), "--image", "x:1")
	}
	second.waitForOutput("self=true")
	next := c.lease()
	took := next.Spec.AcquireTime.Sub(killed)
	if *next.Spec.HolderIdentity == *leader.Spec.HolderIdentity {
		t.Fatalf("the killed scheduler %s holds the lease, want the second one", *next.Spec.HolderIdentity)
	}
	// Electors compare Leases by whole seconds: of several renewals within one second they observe
	// only the first, and count from it. There are never two leaders, because the old one gives up
	// after the renew deadline.
	if gap := next.Spec.AcquireTime.Sub(leader.Spec.RenewTime.Time); gap < leaseDuration-time.Second {
		t.Errorf("the second scheduler acquired the lease %s after the last renewal, want at least the lease duration %s", gap, leaseDuration)
	}
	// Renewals that only the server received and a busy machine add some time.
	if maxTakeover := leaseDuration + 2*retryPeriod + 10*time.Second; took > maxTakeover {
		t.Errorf("the second scheduler took over %s after the kill, want at most %s", took, maxTakeover)
	}
	t.Logf("took over %.1f s after the kill; the lease lasts %s, the retry period is %s", took.Seconds(), leaseDuration, retryPeriod)
	c.runPods("after")
	eventually(t, eventTimeout, func() error { return c.checkBound(30) })
	checkSingleLeader(t, c, next)
	if code := second.stop(); code != 0 {
		t.Errorf("the stopped scheduler ended with code %d, want 0", code)
	}
	third := scheduler() // the stopped scheduler has released its Lease
	third.waitForOutput("self=true")
}

// startComponents starts controllers and the agents of four nodes for a server.
func startComponents(c *cluster) {
	controllers := c.start("controller", "--kubeconfig", c.credential("controller", "--for", "controller"))
	controllers.waitForOutput("Controllers at")
	agent := c.start("agent", "--simulated", "--kubeconfig", c.credential("n1", "--node", "n1"), "--node-name", "n1", "--node-cpu", "16")
	agent.waitForOutput("Agent of 1")
	file := ""
	for _, name := range []string{"n2", "n3", "n4"} {
		file += "---\napiVersion: v1\nkind: Node\nmetadata: {name: " + name + "}\nstatus: {capacity: {cpu: 4, memory: 8Gi}}\n"
	}
	agents := c.start("agent", "--simulated", "--kubeconfig", c.credential("nodes", "--for", "simulated-nodes"), "--nodes-file", c.write("nodes.yaml", file))
	agents.waitForOutput("Agent of 3")
	c.waitForNodes("n1", "n2", "n3", "n4")
	c.mustKubectl("wait", "--for=condition=Ready", "node/n1", "node/n2", "node/n3", "node/n4", "--timeout=180s")
}

// runPods creates ten pods whose names start with name and waits until they are ready.
func (c *cluster) runPods(name string) {
	c.t.Helper()
	for i := range 10 {
		c.mustKubectl("run", fmt.Sprintf("%s-%d", name, i), "--image", "x:1", "-l", "wave="+name)
	}
	c.mustKubectl("wait", "--for=condition=Ready", "pod", "-l", "wave="+name, "--timeout=180s")
}

// checkBound returns an error unless the number of bound pods is want.
func (c *cluster) checkBound(want int) error {
	n := 0
	for _, p := range c.pods() {
		if p.Spec.NodeName != "" {
			n++
		}
	}
	if n != want {
		return fmt.Errorf("%d pods are bound, want %d", n, want)
	}
	return nil
}

// lease returns the Lease of the scheduler.
func (c *cluster) lease() *coordinationv1.Lease {
	c.t.Helper()
	var lease coordinationv1.Lease
	c.json(&lease, "get", "lease", "-n", "kube-system", "kube-scheduler")
	return &lease
}

// checkSingleLeader checks with the events that each pod was scheduled once, and that the second leader
// scheduled no pod before it held the lease.
func checkSingleLeader(t *testing.T, c *cluster, second *coordinationv1.Lease) {
	t.Helper()
	eventually(t, eventTimeout, func() error {
		var list eventsv1.EventList
		c.json(&list, "get", "events.events.k8s.io", "-n", "default")
		times := map[string]int{}
		for _, e := range list.Items {
			if e.Reason != "Scheduled" {
				continue
			}
			times[e.Regarding.Name]++
			if before := strings.HasPrefix(e.Regarding.Name, "before-"); !before && e.EventTime.Before(second.Spec.AcquireTime) {
				t.Fatalf("pod %s was scheduled at %s, before the second leader held the lease at %s", e.Regarding.Name, e.EventTime, second.Spec.AcquireTime)
			}
		}
		for name, n := range times {
			if n != 1 {
				t.Fatalf("pod %s was scheduled %d times, want once", name, n)
			}
		}
		if len(times) != 30 {
			return fmt.Errorf("%d of 30 pods have a Scheduled event", len(times))
		}
		return nil
	})
}
