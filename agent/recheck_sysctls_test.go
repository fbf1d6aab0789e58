package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/berthproject/berth/agent"
)

// TestSysctlsAreCheckedAfterRestart checks that an agent that restarts with fewer allowed sysctls terminates the
// pods that use another one.
func TestSysctlsAreCheckedAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withSysctl := func(name string) func(*corev1.Pod) {
			return func(p *corev1.Pod) {
				p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: name, Value: "1"}}}
			}
		}
		api := fake.NewClientset(pod("unsafe", withSysctl("kernel.msgmax")), pod("safe", withSysctl("net.ipv4.tcp_syncookies")))
		_, stop := startAgent(t, api, func(o *agent.Options) { o.AllowedUnsafeSysctls = []string{"kernel.msg*"} })
		waitBriefly()
		for _, name := range []string{"unsafe", "safe"} {
			if s := get(t, api, name).Status; s.Phase != corev1.PodRunning {
				t.Fatalf("%s: %s, want Running", name, s.Phase)
			}
		}
		stop()
		_, stop = startAgent(t, api, func(*agent.Options) {})
		defer stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		s := get(t, api, "unsafe").Status
		if s.Phase != corev1.PodFailed || s.Reason != "SysctlForbidden" || s.Message != `Pod was rejected: forbidden sysctl: "kernel.msgmax" not allowlisted` {
			t.Errorf("unsafe: %s %s %q, want Failed, SysctlForbidden", s.Phase, s.Reason, s.Message)
		}
		if len(s.ContainerStatuses) != 1 || s.ContainerStatuses[0].State.Terminated == nil {
			t.Errorf("unsafe: containers %v, want a terminated one", s.ContainerStatuses)
		}
		if s := get(t, api, "safe").Status; s.Phase != corev1.PodRunning {
			t.Errorf("safe: %s, want Running", s.Phase)
		}
	})
}
