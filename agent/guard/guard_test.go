package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent"
	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

func TestMain(m *testing.M) {
	fixtures.Main()
	os.Exit(m.Run())
}

// machine creates a cgroup that represents a machine with a kubelet. It returns the host, the path of the cgroup and
// the layout of the pods in it.
func machine(t *testing.T) (*cgroup.Host, string, Layout) {
	t.Helper()
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "creating cgroups requires root")
	}
	h, err := cgroup.Detect()
	if err != nil {
		testkit.SkipOrFail(t, "cgroups", err.Error())
	}
	root := fmt.Sprintf("/berth-guard-%d", os.Getpid())
	l := Layout{Root: root}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = h.Kill(root)
		if err := h.Remove(ctx, root); err != nil {
			t.Error(err)
		}
	})
	if err := h.Create(l.Pods(), cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := h.SetLimits(root, cgroup.Limits{Memory: 256 << 20}); err != nil {
		t.Fatal(err)
	}
	return h, root, l
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:   corev1.PodSpec{NodeName: "n1", Containers: []corev1.Container{{Name: "main", Image: "x:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBestEffort}}
}

// startProcess starts agent/testprogram in the pod's cgroup. The channel receives its exit.
func startProcess(t *testing.T, h *cgroup.Host, l Layout, p *corev1.Pod, args ...string) (exited chan error) {
	t.Helper()
	path := l.Pod(p.Status.QOSClass, p.UID)
	if err := h.Create(path, cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, c := range []string{"memory", "pids", "freezer"} {
		if dir := h.Dir(c, path); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "BERTH_JOIN_CGROUPS="+strings.Join(dirs, ":"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	exited = make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	return exited
}

func TestGuardEvictsLargestPod(t *testing.T) {
	h, root, l := machine(t)
	large, small := pod("large"), pod("small")
	client := fake.NewClientset(large, small)
	g, err := New(Options{Node: "n1", Client: client, Host: h, Cgroup: root, Layout: l, Config: config.DefaultKubelet().Pressure, Log: klog.Background()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	smallExited := startProcess(t, h, l, small, "-memory=10Mi")
	largeExited := startProcess(t, h, l, large, "-memory=1Gi", "-memory-rate=200Mi")
	_ = <-largeExited
	for { // the kill may precede the status write
		p, err := client.CoreV1().Pods("default").Get(t.Context(), "large", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Status.Phase == corev1.PodFailed {
			if p.Status.Reason != "Evicted" || !strings.Contains(p.Status.Message, "low on resource: memory") ||
				len(p.Status.Conditions) == 0 || p.Status.Conditions[0].Type != corev1.DisruptionTarget {
				t.Errorf("status of the largest pod %+v, want an eviction for memory", p.Status)
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if p, err := client.CoreV1().Pods("default").Get(t.Context(), "small", metav1.GetOptions{}); err != nil || p.Status.Phase != corev1.PodRunning {
		t.Errorf("small pod %v, %v, want it running", p, err)
	}
	select {
	case err := <-smallExited:
		t.Errorf("the small pod terminated: %v, want it running", err)
	default:
	}
	if oom, err := os.ReadFile(filepath.Join(h.Dir("memory", l.Pod(large.Status.QOSClass, large.UID)), "memory.oom_control")); err == nil && !strings.Contains(string(oom), "oom_kill 0") {
		t.Errorf("memory.oom_control %q, want no kill by the kernel", oom)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNewValidatesOptions(t *testing.T) {
	h, root, l := machine(t)
	c := config.DefaultKubelet().Pressure
	o := Options{Node: "n1", Client: fake.NewClientset(), Host: h, Cgroup: root, Layout: l, Log: klog.Background()}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "no memory or PID threshold") {
		t.Errorf("New without thresholds: %v, want an error about thresholds", err)
	}
	o.Config, o.Layout.Root = c, root+"/missing"
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "does not exist: check that a kubelet runs") {
		t.Errorf("New without a cgroup of pods: %v, want an error about the cgroup", err)
	}
}

// TestWriteEviction checks that a conflict is retried unless another pod has the name, and that a terminated pod is
// not changed.
func TestWriteEviction(t *testing.T) {
	deleted, current, terminated := pod("deleted"), pod("current"), pod("terminated")
	terminated.Status.Phase = corev1.PodSucceeded
	replacement := deleted.DeepCopy()
	replacement.UID = "another"
	client := fake.NewClientset(replacement, current, terminated)
	var patched []string
	client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		name := a.(clienttesting.PatchAction).GetName()
		if patched = append(patched, name); len(patched) <= 2 {
			return true, nil, apierrors.NewConflict(corev1.Resource("pods"), name, errors.New("changed"))
		}
		return false, nil, nil
	})
	g := &Guard{opts: Options{Client: client, Log: klog.Background()}, ctx: t.Context(), evicting: map[types.UID]bool{},
		pods: informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()}
	for _, p := range []*corev1.Pod{deleted, current} {
		if err := g.writeEviction(p, agent.Eviction{Reason: "Evicted"}); err != nil {
			t.Error(err)
		}
	}
	if err := g.pods.GetStore().Add(terminated); err != nil {
		t.Fatal(err)
	}
	returned := make(chan struct{})
	g.Evict(agent.Eviction{Pod: terminated.UID, Reason: "Evicted", Done: func() { close(returned) }})
	<-returned
	if got := strings.Join(patched, " "); got != "deleted current current" {
		t.Errorf("patched pods %q, want one attempt for deleted and two for current", got)
	}
}
