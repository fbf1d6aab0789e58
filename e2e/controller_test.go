package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTwoControllers checks that one instance of the controllers leads, and that the other takes over when the first is
// suspended. When the first continues, it sends no more requests. It also checks that no controller starts while a
// kube-controller-manager is active.
func TestTwoControllers(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.server()
	credential := c.credential("controller", "--for", "controller")
	controller := func(names ...string) *process {
		return h.start(append([]string{"controller", "--kubeconfig", credential, "--leader-elect-lease-duration", leaseDuration.String(),
			"--leader-elect-renew-deadline", renewDeadline.String(), "--leader-elect-retry-period", retryPeriod.String()}, names...)...)
	}
	checkConflictWithKCM(t, c, credential)

	first := controller()
	first.waitForOutput("Controllers at")
	second := controller("serviceaccount", "namespace")
	second.waitForOutput("Waiting for the Lease kube-system/berth-controller, held by ")
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if out := second.waitForOutput("Controllers at"); !strings.Contains(out, ": serviceaccount, namespace. Press Ctrl-C") {
		t.Errorf("got %s, want serviceaccount and namespace only", out)
	}
	if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if code := first.wait(); code != 1 || !strings.Contains(first.out.String(), "leader election lost") {
		t.Errorf("the first controller ended with code %d, want 1 and a lost leader election: %s", code, first.out.String())
	}
	c.mustKubectl("create", "namespace", "team")
	c.mustKubectl("wait", "-n", "team", "--for=create", "serviceaccount/default", "--timeout=180s")

	if code := second.stop(); code != 0 {
		t.Errorf("the stopped controller ended with code %d, want 0", code)
	}
	third := controller() // the stopped controller has released its Lease
	third.waitForOutput("Controllers at")
	c.mustKubectl("apply", "-f", h.write("manager.yaml", kcmLease(time.Now().Add(time.Minute))))
	if code := third.wait(); code != 2 || !strings.Contains(third.out.String(), "--controllers=*,-") {
		t.Errorf("after kube-controller-manager started, berth exited with code %d, want 2: %s", code, third.out.String())
	}
}

// kcmLease returns a Lease that kube-controller-manager renewed at a given time.
func kcmLease(renewed time.Time) string {
	return "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: kube-controller-manager, namespace: kube-system}\n" +
		"spec: {holderIdentity: kcm_1, leaseDurationSeconds: 15, renewTime: \"" + renewed.UTC().Format("2006-01-02T15:04:05.000000Z") + "\"}\n"
}

// checkConflictWithKCM checks that berth controller starts no controller that an active kube-controller-manager may
// run.
func checkConflictWithKCM(t *testing.T, c *cluster, credential string) {
	t.Helper()
	c.mustKubectl("apply", "-f", c.write("lease.yaml", kcmLease(time.Now().Add(time.Hour)))) // the other clock is ahead
	r := c.testHome.run("controller", "tainteviction", "podgc", "--kubeconfig", credential, "--upstream-off", "podgc")
	for _, want := range []string{"berth: controller tainteviction", "kcm_1", "--controllers=*,-taint-eviction-controller,", "--upstream-off=tainteviction"} {
		if r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("with an active kube-controller-manager: got %s, want exit code 2 and %q", r, want)
		}
	}
	c.mustKubectl("delete", "lease", "-n", "kube-system", "kube-controller-manager")
}
