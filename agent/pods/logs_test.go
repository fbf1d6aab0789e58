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
	g := newHarness(t, func(o *Options) { o.LogSize, o.LogFiles = 200, 3 })
	pod := testPod("web", "a")
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	p, _ := g.runner.Pod("default", "web")
	c, _ := p.Container("a")
	g.stop() // its own rotation
	for i := range 12 {
		if err := g.service.Log(c.ID, "stdout", fmt.Sprintf("%d %s", i, strings.Repeat("x", 60))); err != nil {
			t.Fatal(err)
		}
		g.runner.rotateLogs(t.Context())
	}
	files, err := filepath.Glob(c.LogPath + "*")
	if err != nil || len(files) != 3 || files[0] != c.LogPath {
		t.Errorf("files are %v, %v; want the log and two older ones", files, err)
	}
	for _, f := range files[1:] {
		if text, err := os.ReadFile(f); err != nil || len(text) < 200 {
			t.Errorf("%s has %d bytes, %v", f, len(text), err)
		}
	}
	// If the runtime cannot open the new file, it still writes to the old one.
	for range 3 {
		if err := g.service.Log(c.ID, "stdout", strings.Repeat("y", 60)); err != nil {
			t.Fatal(err)
		}
	}
	g.service.Fail("ReopenContainerLog", status.Error(codes.Unknown, "broken"))
	g.runner.rotateLogs(t.Context())
	if text, err := os.ReadFile(c.LogPath); err != nil || !strings.Contains(string(text), "yyy") {
		t.Errorf("the log is %q, %v", text, err)
	}
}

func TestTerminationMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		policy       corev1.TerminationMessagePolicy
		file, log    string
		code         int32
		want, reason string
	}{
		"a file":                         {file: "words", code: 1, want: "words"},
		"a long file":                    {file: strings.Repeat("w", 5000), code: 1, want: strings.Repeat("w", 4096)},
		"no file":                        {log: "said", code: 1},
		"the log":                        {policy: corev1.TerminationMessageFallbackToLogsOnError, log: "said", code: 1, want: "said\n"},
		"log after exit code 0":          {policy: corev1.TerminationMessageFallbackToLogsOnError, log: "said"},
		"file takes precedence over log": {policy: corev1.TerminationMessageFallbackToLogsOnError, file: "words", log: "said", code: 1, want: "words"},
		"end of a long log":              {policy: corev1.TerminationMessageFallbackToLogsOnError, log: strings.Repeat("0123456789", 1000), code: 1, want: strings.Repeat("0123456789", 205)[3:2050] + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newHarness(t)
			pod := testPod("web", "a")
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			pod.Spec.Containers[0].TerminationMessagePolicy = tc.policy
			g.admit(pod)
			g.waitForStates(pod, "a=up")
			p, _ := g.runner.Pod("default", "web")
			c, _ := p.Container("a")
			if tc.file != "" {
				for _, m := range g.service.Config(c.ID).Mounts {
					if m.ContainerPath == "/dev/termination-log" {
						if err := os.WriteFile(m.HostPath, []byte(tc.file), 0o644); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			if tc.log != "" {
				if err := g.service.Log(c.ID, "stderr", tc.log); err != nil {
					t.Fatal(err)
				}
			}
			g.service.Exit("web", "a", tc.code, "")
			g.waitForStates(pod, fmt.Sprintf("a=ended(%d )", tc.code))
			g.mu.Lock()
			defer g.mu.Unlock()
			_, cs := g.lifecycles[pod.UID].machine.Statuses()
			if got := cs[0].Exit.Message; got != tc.want {
				t.Errorf("the message is %q (%d), want %q (%d)", got, len(got), tc.want, len(tc.want))
			}
		})
	}
}

func TestOOMKilledNeedsEvidence(t *testing.T) {
	for name, tc := range map[string]struct {
		code     int32
		evidence bool
		want     string
	}{
		"runtime status without a kernel record": {code: 137, want: "a=ended(137 )"},
		"exit code 0 marked as OOMKilled":        {code: 0, evidence: true, want: "a=ended(0 )"},
		"kernel record and exit code":            {code: 137, evidence: true, want: "a=ended(137 OOMKilled)"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newHarness(t)
			pod := testPod("web", "a")
			pod.Spec.RestartPolicy = corev1.RestartPolicyNever
			g.admit(pod)
			g.waitForStates(pod, "a=up")
			p, _ := g.runner.Pod("default", "web")
			c, _ := p.Container("a")
			g.service.SendOOMEvent(c.ID)
			if tc.evidence {
				g.runner.oomLog.add(c.ID)
			}
			g.service.Exit("web", "a", tc.code, "OOMKilled")
			g.waitForStates(pod, tc.want)
		})
	}
}

// oomCgroups simulates cgroup v2: the cgroups of pods count OOM kills.
type oomCgroups struct{ n atomic.Int64 }

func (k *oomCgroups) OOMKills(group string) int64 {
	if strings.HasPrefix(path.Base(group), "pod") {
		return k.n.Load()
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
	g := newHarness(t, func(o *Options) { o.Cgroups = groups })
	pod := testPod("web", "a", "b")
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	groups.n.Store(1)
	g.service.Exit("web", "a", 137, "")
	g.waitForStates(pod, "a=up#1 b=up")
	g.restart()
	g.waitForStates(pod, "a=up#1 b=up")
	g.service.Exit("web", "b", 137, "")
	g.waitForStates(pod, "a=up#1 b=up#1")
	g.mu.Lock()
	defer g.mu.Unlock()
	var reports []string
	for _, r := range g.reports {
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
	g := newHarness(t, func(o *Options) { o.Cgroups = groups })
	pod := testPod("web", "a", "b")
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	g.admit(pod)
	g.waitForStates(pod, "a=up b=up")
	g.stop()
	groups.n.Store(1)
	g.service.Exit("web", "a", 137, "")
	g.restart()
	g.waitForStates(pod, "a=ended(137 OOMKilled) b=up")
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
			t.Errorf("killedContainerID(%q) is %q", line, got)
		}
	}
}

func TestDeadContainers(t *testing.T) {
	g := newHarness(t)
	pod := testPod("web", "a")
	g.admit(pod)
	g.waitForStates(pod, "a=up")
	p, _ := g.runner.Pod("default", "web")
	first, _ := p.Container("a")
	if err := g.service.Log(first.ID, "stdout", "x"); err != nil {
		t.Fatal(err)
	}
	g.service.Exit("web", "a", 1, "")
	g.waitForStates(pod, "a=up#1")
	dead, err := g.runner.Dead(t.Context())
	if err != nil || len(dead) != 1 || dead[0].ID != first.ID || dead[0].PodDeleted || dead[0].Container != "a" {
		t.Fatalf("dead containers are %+v, %v", dead, err)
	}
	if err := g.runner.RemoveDead(t.Context(), dead[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(first.LogPath); !os.IsNotExist(err) {
		t.Errorf("the log of the removed pod remains: %v", err)
	}
	if dead, err = g.runner.Dead(t.Context()); err != nil || len(dead) != 0 {
		t.Errorf("dead containers are %+v, %v", dead, err)
	}
}
