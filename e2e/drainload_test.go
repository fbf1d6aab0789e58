package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/serviceproxy"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/internal/testkit"
)

// loadedApp is an application that stops gracefully, behind a Service, and a client on node v3.
const loadedApp = `apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 10
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]
      containers:
      - {name: main, image: "berth.dev/workload:1", args: ["-listen=:8080", "-graceful"], resources: {requests: {memory: 60Mi}}, readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec: {nodeName: v3, containers: [{name: main, image: "berth.dev/workload:1", args: ["-listen=:8080"]}]}
`

// preemptor fills the memory of node v2.
const preemptor = `apiVersion: v1
kind: Pod
metadata: {name: urgent}
spec:
  priorityClassName: urgent
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: v2}
  containers: [{name: main, image: "berth.dev/workload:1", args: ["-listen=:8080"], resources: {requests: {memory: 800Mi}}}]
`

// TestDrainUnderLoad checks that no request fails while a node is drained, pods are evicted by a taint and preempted,
// and a rollout replaces all pods. A client sends requests through a Service's name and a node port: 500 per second with
// BERTH_SOAK, else 200, because other tests load the machine. With BERTH_SOAK the test also counts the failed requests if
// SIGTERM is sent before the proxy's rules change.
func TestDrainUnderLoad(t *testing.T) {
	if err := embedded.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "embedded runtime", err.Error())
	}
	if err := serviceproxy.Check(); err != nil {
		testkit.SkipOrFail(t, "nftables", err.Error())
	}
	if err := virtualnode.CheckRequirements(); err != nil {
		testkit.SkipOrFail(t, "virtual nodes", err.Error())
	}
	if !inNetworkNamespace(t) {
		return
	}
	t.Run("Berth", func(t *testing.T) {
		// The maximum wait is longer than the default, because other tests load the machine.
		failed, report := drainUnderLoad(t, "{endpointTimeoutMilliseconds: 5000}")
		if failed != "0" {
			t.Errorf("got %s failed requests, want 0", failed)
		}
		t.Log(report)
	})
	if os.Getenv("BERTH_SOAK") == "" {
		return
	}
	for name, nodes := range map[string]string{
		"SIGTERM at the same time":                  "{endpointTimeoutMilliseconds: 0}",
		"SIGTERM at once and rules once per second": "{endpointTimeoutMilliseconds: 0, serviceSyncMilliseconds: 1000}",
	} {
		t.Run(name, func(t *testing.T) {
			_, report := drainUnderLoad(t, nodes)
			t.Log(report)
		})
	}
}

// drainUnderLoad runs a cluster whose BerthConfiguration has these nodes options. It returns the number of failed
// requests and the client's report.
func drainUnderLoad(t *testing.T, nodes string) (failed, report string) {
	h := newTestHome(t)
	t.Cleanup(func() { cleanUpVirtualNodes(t, h.path("data/virtual")) })
	c := h.up("--virtual-nodes", "3", "--virtual-memory", "1Gi", "--virtual-disk", "1Gi", "--runtime", "embedded", "--service-proxy", "on", "--dns", "on",
		"--config", h.write("nodes.yaml", "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nnodes: "+nodes+"\n"))
	c.mustKubectl("apply", "-f", c.write("app.yaml", loadedApp))
	c.mustKubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=180s")
	c.mustKubectl("wait", "--for=condition=Ready", "pod/client", "--timeout=180s")
	address := netip.MustParseAddr(strings.TrimSpace(c.mustKubectl("get", "pod", "client", "-o", "jsonpath={.status.podIP}")))
	gateway := netip.PrefixFrom(address, 24).Masked().Addr().Next() // an address of the machine
	rate := 200
	if os.Getenv("BERTH_SOAK") != "" {
		rate = 500
	}
	reports := make(chan string, 1)
	go func() {
		r := c.kubectl("exec", "client", "--", "/workload", "requests", strconv.Itoa(rate), "12s", "http://web.default.svc.cluster.local/", fmt.Sprintf("http://%s:30080/", gateway))
		reports <- r.stdout + r.stderr
	}()
	time.Sleep(500 * time.Millisecond) // until requests are in flight
	c.mustKubectl("drain", "v1", "--ignore-daemonsets", "--force", "--delete-emptydir-data")
	c.mustKubectl("uncordon", "v1")
	c.mustKubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=180s")
	c.mustKubectl("taint", "nodes", "v2", "maintenance=now:NoExecute")
	c.mustKubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=180s")
	c.mustKubectl("taint", "nodes", "v2", "maintenance=now:NoExecute-")
	c.mustKubectl("rollout", "restart", "deployment/web")
	c.mustKubectl("rollout", "status", "deployment/web", "--timeout=180s")
	c.mustKubectl("apply", "-f", c.write("preemptor.yaml", preemptor))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/urgent", "--timeout=180s")
	report = <-reports
	match := regexp.MustCompile(`sent (\d+) failed (\d+)`).FindStringSubmatch(report)
	if match == nil || match[1] != strconv.Itoa(12*rate) {
		t.Fatalf("got report %q, want %d sent requests, and the number of failed ones", report, 12*rate)
	}
	if code := c.proc.stop(); code != 0 {
		t.Errorf("exit code %d of berth up, want 0: %s", code, c.proc.out.String())
	}
	return match[2], report
}

// inNetworkNamespace runs the test in a new network namespace, because tests run in parallel and a network
// namespace has only one service proxy. It reports whether this process runs in that namespace.
func inNetworkNamespace(t *testing.T) bool {
	t.Helper()
	const variable = "BERTH_NETWORK_NAMESPACE"
	if os.Getenv(variable) != "" {
		lo, err := netlink.LinkByName("lo")
		if err == nil {
			err = netlink.LinkSetUp(lo)
		}
		if err != nil {
			t.Fatal(err)
		}
		return true
	}
	t.Parallel()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable+"=1", testkit.BuiltEnv+"="+filepath.Dir(testkit.Binary(t)))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("running the test in a network namespace: %v\n%s", err, out)
	}
	t.Logf("%s", out)
	return false
}
