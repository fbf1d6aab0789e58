package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestPreemptionStormKill checks that a second scheduler completes the preemptions of a killed one. All
// nodes are full, and as many pods with a higher priority are created as fit.
func TestPreemptionStormKill(t *testing.T) {
	nodes := 50
	if os.Getenv("BERTH_SOAK") != "" {
		nodes = 500
	} else {
		t.Parallel()
	}
	pods := 2 * nodes
	h := newTestHome(t)
	c := h.server()
	c.start("controller", "--kubeconfig", c.credential("controller", "--for", "controller")).waitForOutput("Controllers at")
	var file strings.Builder
	for i := range nodes {
		fmt.Fprintf(&file, "---\napiVersion: v1\nkind: Node\nmetadata: {name: n%03d}\nstatus: {capacity: {cpu: 2, memory: 8Gi}}\n", i)
	}
	c.start("agent", "--simulated", "--kubeconfig", c.credential("nodes", "--for", "simulated-nodes"), "--nodes-file", c.write("nodes.yaml", file.String())).
		waitForOutput(fmt.Sprintf("Agent of %d", nodes))
	client := c.protobuf()
	createHighClass(t, client)
	credential := c.credential("scheduler", "--for", "scheduler")
	scheduler := func() *process {
		p := h.start("scheduler", "--kubeconfig", credential, "--leader-elect=false")
		p.waitForOutput("Caches are synced")
		return p
	}
	first := scheduler()
	observed := watchVictims(t.Context(), t, client)
	createPods(t, client, "low", "", pods)
	eventually(t, 3*eventTimeout, func() error { return c.checkPodsRun("low", pods) })

	start := time.Now()
	go func() {
		for { // kill the scheduler when about a third of the victims is selected
			observed.mu.Lock()
			n := len(observed.conditions)
			observed.mu.Unlock()
			if n > pods/3 || time.Since(start) > eventTimeout {
				first.kill()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	createPods(t, client, "high", "high", pods)
	<-first.exited
	observed.mu.Lock()
	selected, deleted := len(observed.conditions), len(observed.deleted)
	observed.mu.Unlock()
	scheduler()
	eventually(t, 3*eventTimeout, func() error { return c.checkPodsRun("high", pods) })
	duration := time.Since(start)
	n := observed.checkVictims(t, client)
	if n != pods {
		t.Errorf("%d pods were displaced, want %d", n, pods)
	}
	checkNodeCapacity(t, c.pods(), c.nodes())
	fmt.Printf("soak: %d pods preempt on %d full nodes; killed with %d victims selected, %d deleted; %d victims, each one event and one condition; %.1f s\n",
		pods, nodes, selected, deleted, n, duration.Seconds())
}

// createPods creates n pods that request one core, with several clients at once.
func createPods(t *testing.T, client kubernetes.Interface, prefix, class string, n int) {
	t.Helper()
	work := make(chan int, n)
	for i := range n {
		work <- i
	}
	close(work)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range work {
				p := newSizedPod(fmt.Sprintf("%s-%04d", prefix, i), "1", class, map[string]string{"wave": prefix})
				if _, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// checkPodsRun returns an error unless want pods of a wave are Running.
func (c *cluster) checkPodsRun(wave string, want int) error {
	running, bound := 0, 0
	for _, p := range c.pods() {
		if p.Labels["wave"] == wave && p.Spec.NodeName != "" {
			bound++
			if p.Status.Phase == "Running" {
				running++
			}
		}
	}
	if running != want {
		return fmt.Errorf("%d of %d pods of wave %s are Running, %d are bound", running, want, wave, bound)
	}
	return nil
}
