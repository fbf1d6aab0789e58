package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/testkit"
)

// TestInvalidAgents checks that `berth agent` and `berth up` with invalid flags and files exit with code 1. The message
// names the error and the valid values.
func TestInvalidAgents(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		testkit.SkipOrFail(t, "root", "checks agents of real nodes")
	}
	h := newTestHome(t)
	c := h.server("--disable-admission-plugins", "ServiceAccount")
	// The socket replaces a container runtime. No agent calls it, because each one exits before.
	dir, err := os.MkdirTemp("/tmp", "bt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	credential := c.credential("n1", "--node", "n1")
	agent := func(args ...string) []string {
		return append([]string{"agent", "--kubeconfig", credential, "--runtime-endpoint", "unix://" + socket, "--root-dir", h.path("agent")}, args...)
	}
	kubelet := func(name, text string) []string {
		return agent("--config", h.write(name+".yaml", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+text+"\n"))
	}
	up := func(args ...string) []string {
		return append([]string{"up", "--data-dir", h.path("other"), "--listen", "127.0.0.1:0"}, args...)
	}
	for name, tc := range map[string]struct {
		args  []string
		words []string
	}{
		"negative threshold":                    {kubelet("below", `evictionHard: {memory.available: "-1"}`), []string{"below.yaml", "evictionHard.memory.available", `"-1"`, "must be positive"}},
		"threshold in the syntax of a flag":     {kubelet("form", `evictionHard: {"memory.available<-1": "1"}`), []string{"form.yaml", "memory.available<-1"}},
		"more than 100 %":                       {kubelet("percent", `evictionHard: {nodefs.available: 101%}`), []string{"percent.yaml", "evictionHard.nodefs.available", "101%", "<= 100%"}},
		"soft threshold without a grace period": {kubelet("soft", `evictionSoft: {memory.available: 1Gi}`), []string{"soft.yaml", "evictionSoft.memory.available", "grace period must be specified"}},
		"negative grace period":                 {kubelet("grace", `evictionSoftGracePeriod: {memory.available: -1s}`), []string{"grace.yaml", "evictionSoftGracePeriod", "-1s"}},
		"unknown signal":                        {kubelet("signal", `evictionHard: {memory.free: 1Gi}`), []string{"signal.yaml", "unsupported eviction signal memory.free"}},
		"unknown field":                         {kubelet("field", `evictionHardest: {}`), []string{"field.yaml", "evictionHardest", "unknown field"}},
		"image thresholds reversed":             {kubelet("images", `imageGCLowThresholdPercent: 90`), []string{"images.yaml", "imageGCLowThresholdPercent", "90", "85"}},
		"negative reservation":                  {kubelet("reserved", `systemReserved: {memory: "-1"}`), []string{"reserved.yaml", "systemReserved.memory", "-1"}},
		"shutdown grace periods reversed":       {kubelet("shutdown", "shutdownGracePeriod: 5s\nshutdownGracePeriodCriticalPods: 6s"), []string{"shutdown.yaml", "shutdownGracePeriodCriticalPods", "6s", "5s"}},
		"maxPods is no number":                  {kubelet("pods", `maxPods: many`), []string{"pods.yaml", "maxPods", `"many"`, "whole number"}},
		"negative disk reserve":                 {agent("--low-diskspace-threshold-mb", "-1"), []string{"--low-diskspace-threshold-mb", "-1", "0 or more"}},
		"no container runtime":                  {agent("--runtime-endpoint", "unix:///nowhere.sock"), []string{"--runtime-endpoint", "unix:///nowhere.sock", "--simulated"}},
		"unknown taint effect":                  {agent("--register-with-taints", "a=b:NoSleep"), []string{"--register-with-taints", "a=b:NoSleep", "NoSchedule"}},
		"invalid label":                         {agent("--node-labels", "a=b c"), []string{"--node-labels", "a=b c"}},
		"invalid address":                       {agent("--node-ip", "here"), []string{"--node-ip", "here", "IP address"}},
		"invalid network":                       {agent("--pod-cidr", "10.0.0.0"), []string{"--pod-cidr", "10.0.0.0", "CIDR"}},
		"invalid port":                          {agent("--port", "70000"), []string{"--port", "70000", "65535"}},
		"cgroup is not a path":                  {agent("--cgroup", "nodes"), []string{"--cgroup", `"nodes"`}},
		"directory is relative":                 {agent("--root-dir", "here"), []string{"--root-dir", `"here"`, "absolute"}},
		"credential of another node":            {agent("--node-name", "n2"), []string{"n2", "credential"}},
		"both kinds of node":                    {agent("--simulated"), []string{"real node", "--simulated"}},
		"size flags for a real node":            {agent("--node-cpu", "4"), []string{"--node-cpu", "--simulated"}},
		"negative number of virtual nodes":      {up("--virtual-nodes", "-1"), []string{"--virtual-nodes", "-1", "0 and 100"}},
		"virtual memory is not a quantity":      {up("--virtual-nodes", "1", "--virtual-memory", "much"), []string{"--virtual-memory", "much", "2Gi"}},
		"runtime flag for simulated nodes":      {up("--real-node", "--runtime-endpoint", "unix:///nowhere.sock"), []string{"--real-node", "unix:///nowhere.sock", "--virtual-nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.run(tc.args...)
			if r.code != 1 || strings.Contains(r.stderr, "panic") || strings.Contains(r.stderr, "goroutine") {
				t.Errorf("got %s, want exit code 1 and a message", r)
			}
			for _, w := range tc.words {
				if !strings.Contains(r.stderr, w) {
					t.Errorf("got %s, want a message with %q", r, w)
				}
			}
		})
	}
}
