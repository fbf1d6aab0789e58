package embedded_test

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/container"
)

// attacker returns a container that runs an attack without capabilities.
func attacker(name, attack string, user int64) *cri.ContainerConfig {
	c := config(name, "-attack="+attack)
	c.Linux.SecurityContext.Capabilities = &cri.Capability{DropCapabilities: []string{"ALL"}}
	c.Linux.SecurityContext.RunAsUser = &cri.Int64Value{Value: user}
	return c
}

// TestExecInHostileContainer checks that a container that stops, kills or traces the processes in
// it affects neither the agent nor commands in other containers. Each command must end within its
// timeout, and no process of a command may remain.
func TestExecInHostileContainer(t *testing.T) {
	for name, tc := range map[string]struct {
		attack string
		user   int64
		change func(*cri.ContainerConfig)
	}{
		"stop":        {"stop", 0, nil},
		"stop-user":   {"stop", 1000, nil},
		"kill":        {"kill", 0, nil},
		"kill-user":   {"kill", 1000, nil},
		"ptrace":      {"ptrace", 0, nil},
		"ptrace-user": {"ptrace", 1000, nil},
		"ptrace-capability": {"ptrace", 0, func(c *cri.ContainerConfig) {
			c.Linux.SecurityContext.Capabilities.AddCapabilities = []string{"SYS_PTRACE"}
		}},
		"fork": {"fork", 0, nil},
		"all":  {"stop,ptrace,fork,descriptors", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, false)
			sb, sandboxConfig := h.createSandbox("hostile", nil)
			c := attacker("attacker", tc.attack, tc.user)
			if tc.change != nil {
				tc.change(c)
			}
			id := h.create(sb, sandboxConfig, c)
			group := path.Join(sandboxConfig.Linux.CgroupParent, id)
			if err := h.host().Create(group, cgroup.Limits{Pids: 100, CPUQuota: 20_000}); err != nil {
				t.Fatal(err)
			}
			if err := h.Service.StartContainer(context.Background(), id); err != nil {
				t.Fatal(err)
			}
			other := h.run(sb, sandboxConfig, shell("other", "exec sleep 1000"))
			runs, slowest := testkit.SoakRuns(2, 10), time.Duration(0)
			for range runs {
				start := time.Now()
				_, err := h.Service.ExecSync(context.Background(), id, []string{"/bin/sleep", "5"}, time.Second)
				if err != nil && status.Code(err) != codes.DeadlineExceeded {
					t.Errorf("command in the attacker: %v, want a timeout or an exit code", err)
				}
				slowest = max(slowest, time.Since(start))
				if got := h.exec(other, "echo", "done"); got != "done\n" {
					t.Errorf("command in another container: %q, want done", got)
				}
			}
			h.waitUntil("no process of a command remains", func() bool { return len(h.helpers(id)) == 0 && len(h.sleepProcesses(group)) == 0 })
			if s := h.status(id); s.State != cri.ContainerState_CONTAINER_RUNNING {
				t.Errorf("the attacker is %v, %s, want it running", s.State, s.Message)
			}
			if err := h.Service.StopContainer(context.Background(), id, 0); err != nil {
				t.Error(err)
			}
			if !t.Failed() {
				t.Logf("soak: %s: %d commands with a timeout of 1 s, all ended, the slowest after %v", name, runs, slowest.Round(time.Millisecond))
			}
		})
	}
}

// helpers returns the files /proc/PID/cmdline of the processes that start or run a command in a container.
func (h *harness) helpers(id string) (out []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, _ := os.ReadFile(file); strings.HasPrefix(string(text), "berth-exec\x00"+id+"\x00") {
			out = append(out, file)
		}
	}
	return out
}

func (h *harness) sleepProcesses(group string) (out []string) {
	pids, err := h.host().Procs(group)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, pid := range pids {
		if text, _ := os.ReadFile("/proc/" + itoa(pid) + "/cmdline"); strings.HasPrefix(string(text), "/bin/sleep\x00") {
			out = append(out, itoa(pid))
		}
	}
	return out
}

// TestStartInHostilePod checks that the start of a container fails within its limit if another one in the same PID
// namespace stops its processes. No process or file of it remains.
func TestStartInHostilePod(t *testing.T) {
	t.Parallel()
	h := &harness{container.StartEmbedded(t, false, func(o *embedded.Options) { o.StartLimit = 3 * time.Second }), t}
	h.LoadWorkload(t)
	sb, sandboxConfig := h.createSandbox("shared", func(c *cri.PodSandboxConfig) {
		c.Linux.SecurityContext.NamespaceOptions.Pid = cri.NamespaceMode_POD
	})
	c := shell("attacker", "echo started; while true; do kill -STOP -1; done")
	h.run(sb, sandboxConfig, c)
	h.waitUntil("the attack has started", func() bool { return h.output(sandboxConfig, c) != "" })
	id := h.create(sb, sandboxConfig, shell("other", "exec sleep 1000"))
	if err := h.Service.StartContainer(context.Background(), id); err == nil {
		t.Log("the container was started between two signals")
	} else if !strings.Contains(err.Error(), "timed out after 3s") {
		t.Errorf("start of the container: %v, want a timeout", err)
	} else if s := h.status(id); s.State != cri.ContainerState_CONTAINER_EXITED || s.Reason != "StartError" {
		t.Errorf("the container is %v, %s, want it exited with StartError", s.State, s.Reason)
	} else {
		h.waitUntil("its process has exited", func() bool { return processExited(h.processes(id).Container) })
	}
	if err := h.Service.RemovePodSandbox(context.Background(), sb); err != nil {
		t.Error(err)
	}
	if remaining := h.remainingResources(); len(remaining) != 0 {
		t.Errorf("remaining mounts and processes: %q, want none", remaining)
	}
}

// TestForwardToHostileListener checks that a connection to a listener that does not respond fails
// in time.
func TestForwardToHostileListener(t *testing.T) {
	h := newHarness(t, true)
	sb, sandboxConfig := h.createSandbox("listener", nil)
	c := attacker("attacker", "listen", 0)
	c.Linux.SecurityContext = nil // port 81 requires a capability
	h.run(sb, sandboxConfig, c)
	h.waitUntil("the listener's queue is full", func() bool { return strings.Contains(h.output(sandboxConfig, c), "attack listen done") })
	if err := h.Runtime.Dial(sb, 81, time.Second); err == nil || !strings.Contains(err.Error(), "no answer within 1s") {
		t.Errorf("connection to a full listener: %v, want no answer", err)
	}
	if err := h.Runtime.Dial(sb, 82, time.Second); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("connection to a closed port: %v, want a refused connection", err)
	}
}
