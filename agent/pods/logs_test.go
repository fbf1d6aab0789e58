package pods

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/engine/podlifecycle"
)

func TestLogRotation(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.LogSize, o.LogFiles = 200, 3 })
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	p, _ := h.runner.Pod("default", "web")
	c, _ := p.Container("a")
	h.stop() // stops the periodic rotation
	for i := range 12 {
		if err := h.service.Log(c.ID, "stdout", fmt.Sprintf("%d %s", i, strings.Repeat("x", 60))); err != nil {
			t.Fatal(err)
		}
		h.runner.rotateLogs(t.Context())
	}
	files, err := filepath.Glob(c.LogPath + "*")
	if err != nil || len(files) != 3 || files[0] != c.LogPath {
		t.Errorf("files %v, %v, want the log and two older ones", files, err)
	}
	for _, f := range files[1:] {
		if text, err := os.ReadFile(f); err != nil || len(text) < 200 {
			t.Errorf("%s: %d bytes, %v, want at least 200", f, len(text), err)
		}
	}
	// If the runtime cannot open the new file, it still writes to the old one.
	for range 3 {
		if err := h.service.Log(c.ID, "stdout", strings.Repeat("y", 60)); err != nil {
			t.Fatal(err)
		}
	}
	h.service.Fail("ReopenContainerLog", status.Error(codes.Unknown, "broken"))
	h.runner.rotateLogs(t.Context())
	if text, err := os.ReadFile(c.LogPath); err != nil || !strings.Contains(string(text), "yyy") {
		t.Errorf("log %q, %v, want the new lines", text, err)
	}
}

func TestTerminationMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		policy    corev1.TerminationMessagePolicy
		file, log string
		code      int32
		want      string
	}{
		"a file":                         {file: "written", code: 1, want: "written"},
		"a long file":                    {file: strings.Repeat("w", 5000), code: 1, want: strings.Repeat("w", 4096)},
		"no file":                        {log: "logged", code: 1},
		"the log":                        {policy: corev1.TerminationMessageFallbackToLogsOnError, log: "logged", code: 1, want: "logged\n"},
		"log after exit code 0":          {policy: corev1.TerminationMessageFallbackToLogsOnError, log: "logged"},
		"file takes precedence over log": {policy: corev1.TerminationMessageFallbackToLogsOnError, file: "written", log: "logged", code: 1, want: "written"},
		"end of a long log":              {policy: corev1.TerminationMessageFallbackToLogsOnError, log: strings.Repeat("0123456789", 1000), code: 1, want: strings.Repeat("0123456789", 205)[3:2050] + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			pod := testPod("web", "a")
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].TerminationMessagePolicy = tc.policy
			h.admit(pod)
			h.waitForStates(pod, "a=running")
			p, _ := h.runner.Pod("default", "web")
			c, _ := p.Container("a")
			if tc.file != "" {
				for _, m := range h.service.Config(c.ID).Mounts {
					if m.ContainerPath == "/dev/termination-log" {
						if err := os.WriteFile(m.HostPath, []byte(tc.file), 0o644); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if tc.log != "" {
				if err := h.service.Log(c.ID, "stderr", tc.log); err != nil {
					t.Fatal(err)
				}
			}
			h.service.Exit("web", "a", tc.code, "")
			h.waitForStates(pod, fmt.Sprintf("a=terminated(%d )", tc.code))
			h.mu.Lock()
			defer h.mu.Unlock()
			_, cs := h.lifecycles[pod.UID].machine.Statuses()
			if got := cs[0].Exit.Message; got != tc.want {
				t.Errorf("message %q (%d bytes), want %q (%d bytes)", got, len(got), tc.want, len(tc.want))
			}
		})
	}
}

func TestOOMKilledRequiresEvidence(t *testing.T) {
	for name, tc := range map[string]struct {
		code     int32
		evidence bool
		want     string
	}{
		"runtime status without a kernel record": {code: 137, want: "a=terminated(137 )"},
		"exit code 0 marked as OOMKilled":        {code: 0, evidence: true, want: "a=terminated(0 )"},
		"kernel record and exit code":            {code: 137, evidence: true, want: "a=terminated(137 OOMKilled)"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			pod := testPod("web", "a")
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			h.admit(pod)
			h.waitForStates(pod, "a=running")
			p, _ := h.runner.Pod("default", "web")
			c, _ := p.Container("a")
			h.service.SendOOMEvent(c.ID)
			if tc.evidence {
				h.runner.oomLog.add(c.ID)
			}
			h.service.Exit("web", "a", tc.code, "OOMKilled")
			h.waitForStates(pod, tc.want)
		})
	}
}

// oomCgroups simulates cgroup v2: the cgroups of pods count OOM kills.
type oomCgroups struct{ n atomic.Int64 }

func (c *oomCgroups) OOMKills(group string) int64 {
	if strings.HasPrefix(path.Base(group), "pod") {
		return c.n.Load()
	}
	return 0
}

func (*oomCgroups) Create(string, cgroup.Limits) error    { return nil }
func (*oomCgroups) Kill(string) error                     { return nil }
func (*oomCgroups) Remove(context.Context, string) error  { return nil }
func (*oomCgroups) Exists(string) bool                    { return true }
func (*oomCgroups) SetLimits(string, cgroup.Limits) error { return nil }
func (*oomCgroups) WorkingSet(string) (int64, error)      { return 0, nil }
func (*oomCgroups) Children(string) ([]string, error)     { return nil, nil }

// TestOOMKillReportedOnce checks that a counted kill explains only one exit, also after a restart
// of the agent.
func TestOOMKillReportedOnce(t *testing.T) {
	groups := &oomCgroups{}
	h := newHarness(t, func(o *Options) { o.Cgroups = groups })
	pod := testPod("web", "a", "b")
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	groups.n.Store(1)
	h.service.Exit("web", "a", 137, "")
	h.waitForStates(pod, "a=running#1 b=running")
	h.restart()
	h.waitForStates(pod, "a=running#1 b=running")
	h.service.Exit("web", "b", 137, "")
	h.waitForStates(pod, "a=running#1 b=running#1")
	h.mu.Lock()
	defer h.mu.Unlock()
	var reports []string
	for _, r := range h.reports {
		if e, ok := r.Event.(podlifecycle.Exited); ok {
			reports = append(reports, e.Container+" "+e.Reason)
		}
	}
	if want := []string{"a OOMKilled", "b "}; !slices.Equal(reports, want) {
		t.Errorf("reported exits %q, want %q", reports, want)
	}
}

func TestOOMKillWhileAgentDown(t *testing.T) {
	groups := &oomCgroups{}
	h := newHarness(t, func(o *Options) { o.Cgroups = groups })
	pod := testPod("web", "a", "b")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	h.admit(pod)
	h.waitForStates(pod, "a=running b=running")
	h.stop()
	groups.n.Store(1)
	h.service.Exit("web", "a", 137, "")
	h.restart()
	h.waitForStates(pod, "a=terminated(137 OOMKilled) b=running")
}

func TestKilledContainerID(t *testing.T) {
	id := strings.Repeat("0a", 32)
	for line, want := range map[string]string{
		"6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/n,task_memcg=/n/berthpods/podx/" + id + ",task=hog,pid=7,uid=0\n": id,
		"6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/n,task_memcg=/kubepods.slice/cri-containerd-" + id + ".scope/inner,task=hog\n":                            id,
		"6,1,2,-;oom-kill:constraint=CONSTRAINT_NONE,task_memcg=/system.slice/sshd.service,task=sshd\n":                                                                    "",
		"6,1,2,-;Memory cgroup out of memory: Killed process 7 (hog)\n":                                                                                                    "",
		"": "",
	} {
		if got := killedContainerID(line); got != want {
			t.Errorf("killedContainerID(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestTerminatedContainers(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	p, _ := h.runner.Pod("default", "web")
	first, _ := p.Container("a")
	if err := h.service.Log(first.ID, "stdout", "x"); err != nil {
		t.Fatal(err)
	}
	h.service.Exit("web", "a", 1, "")
	h.waitForStates(pod, "a=running#1")
	terminated, err := h.runner.Terminated(t.Context())
	if err != nil || len(terminated) != 1 || terminated[0].ID != first.ID || terminated[0].PodDeleted || terminated[0].Container != "a" {
		t.Fatalf("terminated containers %+v, %v, want the first run of a", terminated, err)
	}
	if err := h.runner.RemoveTerminated(t.Context(), terminated[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first.LogPath); !os.IsNotExist(err) {
		t.Errorf("log of the removed container: %v, want it not to exist", err)
	}
	if terminated, err = h.runner.Terminated(t.Context()); err != nil || len(terminated) != 0 {
		t.Errorf("terminated containers %+v, %v, want none", terminated, err)
	}
}
