package containerd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestDaemonRunsContainers checks the exit code, the log and the network of containers in a private
// daemon. StartContainerd checks at the end that no resource remains.
func TestDaemonRunsContainers(t *testing.T) {
	r := container.StartContainerd(t, nil)
	r.LoadWorkload(t)
	_, id := r.Run(t, container.Pod{Name: "web", Command: []string{"/bin/sh", "-c", "echo one; echo two; exit 7"}})
	if s := r.WaitExited(t, id); s.ExitCode != 7 {
		t.Errorf("exit code %d, want 7", s.ExitCode)
	}
	r.WaitForLog(t, "web", " stdout F two\n")

	sandbox, _ := r.Run(t, container.Pod{Name: "server", Args: []string{"-listen=:8080"}})
	s, err := r.Service.PodSandboxStatus(context.Background(), sandbox)
	if err != nil {
		t.Fatal(err)
	}
	_, caller := r.Run(t, container.Pod{Name: "caller", Command: []string{"/bin/sh", "-c",
		"until wget -q -O - http://" + s.GetNetwork().GetIp() + ":8080/; do sleep 0.05; done"}})
	if s := r.WaitExited(t, caller); s.ExitCode != 0 {
		t.Errorf("caller exited with %d, want 0: %s", s.ExitCode, r.Log(t, "caller"))
	}
	r.WaitForLog(t, "caller", " stdout F server\n")
}

// TestDaemonProtectsLoopback checks the rule that blocks access to services on the host's loopback
// addresses. It must exist before CNI's portmap lets such packets in.
func TestDaemonProtectsLoopback(t *testing.T) {
	var bridge string
	container.StartContainerd(t, func(o *containerd.Options) { bridge = o.Bridge })
	want := "-A INPUT -d 127.0.0.0/8 -i " + bridge + " "
	if out, err := exec.Command("iptables", "-w", "-S", "INPUT").Output(); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("rules (error %v)\n%swant one with %q", err, out, want)
	}
}

// TestValidateOptions checks the errors for invalid options.
func TestValidateOptions(t *testing.T) {
	for want, o := range map[string]containerd.Options{
		"must be an absolute path":      {Dir: "data"},
		"choose a shorter directory":    {Dir: "/" + strings.Repeat("d", 100)},
		"must be a CIDR":                {Dir: "/d", PodCIDR: "10.0.0.0", Bridge: "b"},
		"at least 4 addresses":          {Dir: "/d", PodCIDR: "10.0.0.7/24", Bridge: "b"},
		"requires podCIDR":              {Dir: "/d", Bridge: "b"},
		"must be a network device name": {Dir: "/d", PodCIDR: "10.0.0.0/24", Bridge: "a-name-that-is-too-long"},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", o, err, want)
		}
	}
}

// TestCleanup checks that Cleanup removes everything that a stopped daemon left behind, also if the
// daemon's database is lost.
func TestCleanup(t *testing.T) {
	for name, corrupt := range map[string]func(containerd.Options) error{
		"unchanged": func(containerd.Options) error { return nil },
		"with lost database": func(o containerd.Options) error {
			return os.RemoveAll(filepath.Join(o.Dir, "root", "io.containerd.metadata.v1.bolt"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			var o containerd.Options
			r := container.StartContainerd(t, func(options *containerd.Options) { o = *options })
			r.LoadWorkload(t)
			r.Run(t, container.Pod{Name: "remaining", Args: []string{"-listen=:80", "-processes=2"}})
			r.Stop()
			r.Daemon = nil
			if len(remainingResources(t, o)) == 0 {
				t.Error("no process or mount after stopping the daemon, want those of the pod")
			}
			if err := corrupt(o); err != nil {
				t.Fatal(err)
			}
			if err := containerd.Cleanup(context.Background(), o); err != nil {
				t.Fatal(err)
			}
			if remaining := remainingResources(t, o); len(remaining) > 0 {
				t.Errorf("remaining processes and mounts: %q, want none", remaining)
			}
			if rules, err := exec.Command("iptables-save").Output(); err != nil || bytes.Contains(rules, []byte(o.Bridge)) {
				t.Errorf("firewall rules after the cleanup: %v, want none of the bridge:\n%s", err, rules)
			}
			if results, _ := filepath.Glob("/var/lib/cni/results/" + o.Bridge + "-*"); len(results) > 0 {
				t.Errorf("remaining CNI results: %q, want none", results)
			}
			for _, path := range []string{o.Dir, o.State, "/sys/class/net/" + o.Bridge} {
				if _, err := os.Stat(path); !os.IsNotExist(err) {
					t.Errorf("%s: %v, want it not to exist", path, err)
				}
			}
		})
	}
}

// TestDaemonRemovesOrphanedNetns kills the daemon while it creates pods, and checks that the next
// daemon removes the network namespaces that the killed one did not record.
func TestDaemonRemovesOrphanedNetns(t *testing.T) {
	var o containerd.Options
	r := container.StartContainerd(t, func(options *containerd.Options) { o = *options })
	for round := range 4 {
		var pods sync.WaitGroup
		for i := range 8 {
			pods.Go(func() {
				name := fmt.Sprintf("p%d-%d", round, i)
				_, _ = r.Service.RunPodSandbox(t.Context(), &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name}}, "")
			})
		}
		for deadline := time.Now().Add(10 * time.Second); len(netnsMounts(t, o)) < 2*round+2 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if err := r.Daemon.Kill(); err != nil {
			t.Fatal(err)
		}
		pods.Wait()
		var list []*cri.PodSandbox
		var err error
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
			if list, err = r.Service.ListPodSandbox(t.Context(), nil); err == nil || time.Now().After(deadline) {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if err := errors.Join(r.Service.StopPodSandbox(t.Context(), s.Id), r.Service.RemovePodSandbox(t.Context(), s.Id)); err != nil {
				t.Error(err)
			}
		}
		if remaining := netnsMounts(t, o); len(remaining) > 0 {
			t.Fatalf("round %d: network namespaces after the removal of %d pods: %q, want none", round, len(list), remaining)
		}
	}
}

// netnsMounts returns the mounted network namespaces of pods.
func netnsMounts(t *testing.T, o containerd.Options) []string {
	t.Helper()
	return slices.DeleteFunc(remainingResources(t, o), func(entry string) bool { return !strings.Contains(entry, "/netns/cni-") })
}

// remainingResources returns the command lines of processes and the mounts that name the daemon's
// directories.
func remainingResources(t *testing.T, o containerd.Options) (out []string) {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range commands {
		data, _ := os.ReadFile(path) // the process may have exited
		if bytes.Contains(data, []byte(o.State+"/")) {
			out = append(out, string(bytes.ReplaceAll(data, []byte{0}, []byte(" "))))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, o.State+"/") || strings.Contains(line, o.Dir+"/") {
			out = append(out, line)
		}
	}
	return out
}
