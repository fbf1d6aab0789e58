package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit"
)

// hostileConfig limits the processes and the log of a pod.
const hostileConfig = noEvictionConfig + "podPidsLimit: 24\ncontainerLogMaxSize: 1Mi\n"

// hostileArgs are the arguments of the attackers: one pod each, in turn. SIZE is the number of bytes to
// write to each writable path.
var hostileArgs = []string{
	`"-attack=stop"`, `"-attack=kill"`, `"-attack=fork"`, `"-attack=ptrace"`, `"-attack=descriptors"`,
	`"-attack=write", "-attack-size=SIZE", "-after=3s", "-exit=1"`, // also a termination message of that size
	`"-lines=-1", "-line-rate=50", "-line-size=16000"`,
	`"-attack=stop,kill,fork,ptrace,write,descriptors", "-attack-size=SIZE"`,
}

// hostilePod is a pod without capabilities and without a token. Its readiness probe runs a command in it.
const hostilePod = `---
apiVersion: v1
kind: Pod
metadata: {name: hostile-%d, labels: {app: hostile}}
spec:
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  containers:
  - name: main
    image: %q
    args: [%s]
    resources: {requests: {cpu: 1m, memory: 1Mi}, limits: {cpu: %s, memory: 48Mi}}
    securityContext: {runAsUser: %d, capabilities: {drop: [ALL]}}
    readinessProbe: {exec: {command: [/workload, "true"]}, timeoutSeconds: 1, periodSeconds: %d}
    lifecycle: {preStop: {exec: {command: [/workload, sleep, 1m]}}}
`

const normalPod = `---
apiVersion: v1
kind: Pod
metadata: {name: normal}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: %q, args: ["-listen=:80"]}
`

// TestHostilePods runs hostile pods on a node. The API server must respond, commands in another pod must run, and pods
// must be deletable. They stop, kill, trace and fork processes, fill every writable file, exhaust file descriptors and
// write long logs and termination messages.
func TestHostilePods(t *testing.T) {
	t.Run("embedded", func(t *testing.T) {
		if err := embedded.CheckRequirements(); err != nil {
			testkit.SkipOrFail(t, "embedded runtime", err.Error())
		}
		if !soaking() {
			t.Parallel()
		}
		h := newTestHome(t)
		root := h.path("data/agent")
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := embedded.Cleanup(ctx, embedded.Options{Dir: filepath.Join(root, "runtime"), Bridge: bridgeOf(root)}); err != nil {
				t.Errorf("leftovers of the node's runtime: %v", err)
			}
		})
		runHostilePods(t, h.up("--real-node", "--runtime", "embedded", "--config", h.write("hostile.yaml", hostileConfig)), "berth.dev/workload:1")
	})
	if soaking() {
		t.Run("containerd", func(t *testing.T) {
			config := newTestHome(t).write("hostile.yaml", hostileConfig)
			c := startVirtualNode(t, "--virtual-memory", "8Gi", "--virtual-disk", "4Gi", "--config", config)
			runHostilePods(t, c.cluster, c.image)
		})
	}
}

// runHostilePods runs the attackers and a normal pod on the cluster's only node.
func runHostilePods(t *testing.T, c *cluster, image string) {
	pods, cpu, size, duration, period, limit := len(hostileArgs), "50m", "1Mi", 3*time.Second, 1, 20*time.Second
	if soaking() {
		pods, cpu, size, duration, period, limit = 50, "20m", "16Mi", 2*time.Minute, 5, time.Second
	}
	c.mustKubectl("apply", "-f", c.write("normal.yaml", fmt.Sprintf(normalPod, image)))
	c.mustKubectl("wait", "--for=condition=Ready", "pod/normal", "--timeout=180s")
	slowest := c.watchLivez(limit)

	var manifests strings.Builder
	for i := range pods {
		args := strings.ReplaceAll(hostileArgs[i%len(hostileArgs)], "SIZE", size)
		fmt.Fprintf(&manifests, hostilePod, i, image, args, cpu, 1000*(i/len(hostileArgs)%2), period)
	}
	c.mustKubectl("apply", "-f", c.write("pods.yaml", manifests.String()))
	c.mustKubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod", "-l", "app=hostile", "--timeout=240s")
	commands := 0
	for end := time.Now().Add(duration); time.Now().Before(end); commands++ {
		if out := c.mustKubectl("exec", "normal", "--", "/workload", "echo", "well"); out != "well\n" {
			t.Fatalf("command in the normal pod: got %q, want %q", out, "well\n")
		}
		c.interruptedExec("hostile-0", "/workload", "true")
	}
	c.mustKubectl("wait", "--for=condition=Ready=false", "pod/hostile-0", "--timeout=180s")
	c.mustKubectl("delete", "pod", "-l", "app=hostile", "--timeout=240s")
	c.mustKubectl("wait", "--for=condition=Ready", "pod/normal", "--timeout=180s")
	c.mustKubectl("delete", "pod", "normal", "--timeout=180s")
	requests, longest := slowest()
	t.Logf("soak: %d hostile pods, %v after all run: %d responses of /livez, the slowest after %v; %d commands in a normal pod and in a hostile one", pods, duration, requests, longest.Round(time.Millisecond), commands)
}

// interruptedExec runs a command in a pod that may not respond. It kills kubectl after two seconds.
func (c *cluster) interruptedExec(pod string, command ...string) {
	c.t.Helper()
	cmd := c.command(append([]string{"kubectl", "--kubeconfig", c.kubeconfig, "exec", pod, "--"}, command...)...)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	timer := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait() // the result depends on when the pod stops the command
}

// watchLivez requests /livez until the test ends, and fails the test if a response takes longer than
// limit. It returns a function that returns the number of responses and the longest time so far.
func (c *cluster) watchLivez(limit time.Duration) (slowest func() (responses int64, longest time.Duration)) {
	client, err := kubernetes.NewForConfig(c.config())
	if err != nil {
		c.t.Fatal(err)
	}
	const timeout = 30 * time.Second // for a server that does not respond
	ctx, cancel := context.WithCancel(context.Background())
	begin := time.Now()
	var longest, responses atomic.Int64
	var slow []string // late or failed responses
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			start := time.Now()
			timeoutCtx, stop := context.WithTimeout(ctx, timeout)
			_, err := client.Discovery().RESTClient().Get().AbsPath("/livez").DoRaw(timeoutCtx)
			stop()
			if ctx.Err() != nil {
				return
			}
			duration := time.Since(start)
			responses.Add(1)
			if longest.Store(max(longest.Load(), int64(duration))); err != nil || duration > limit {
				slow = append(slow, fmt.Sprintf("at %v: %v after %v", start.Sub(begin).Round(time.Second), err, duration.Round(time.Millisecond)))
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	c.t.Cleanup(func() {
		cancel()
		if <-ended; len(slow) > 0 {
			c.t.Errorf("%d requests of /livez failed or took longer than %v:\n%s", len(slow), limit, strings.Join(slow, "\n"))
		}
	})
	return func() (int64, time.Duration) { return responses.Load(), time.Duration(longest.Load()) }
}
