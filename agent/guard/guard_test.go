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

// machine returns a cgroup that represents a machine with a kubelet.
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

// startProcess starts agent/testprogram in the pod's cgroup.
func startProcess(t *testing.T, h *cgroup.Host, l Layout, p *corev1.Pod, args ...string) (ended chan error) {
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
	cmd.Env = append(os.Environ(), "BERTH_PLAIN_JOIN="+strings.Join(dirs, ":"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	ended = make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return ended
}

func TestGuardEvictsLargestPod(t *testing.T) {
	h, root, l := machine(t)
	hog, calm := pod("hog"), pod("calm")
	client := fake.NewClientset(hog, calm)
	g, err := New(Options{Node: "n1", Client: client, Host: h, Cgroup: root, Layout: l, Config: config.DefaultKubelet().Pressure, Log: klog.Background()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx) }()
	smallEnded := startProcess(t, h, l, calm, "-memory=10Mi")
	largeEnded := startProcess(t, h, l, hog, "-memory=1Gi", "-memory-rate=200Mi")
	_ = <-largeEnded
	for { // the kill may precede the status write
		p, err := client.CoreV1().Pods("default").Get(t.Context(), "hog", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Status.Phase == corev1.PodFailed {
			if p.Status.Reason != "Evicted" || !strings.Contains(p.Status.Message, "low on resource: memory") ||
				len(p.Status.Conditions) == 0 || p.Status.Conditions[0].Type != corev1.DisruptionTarget {
				t.Errorf("status of the largest pod: %+v", p.Status)
			}
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if p, err := client.CoreV1().Pods("default").Get(t.Context(), "calm", metav1.GetOptions{}); err != nil || p.Status.Phase != corev1.PodRunning {
		t.Errorf("status of the other pod: %v, %v", p, err)
	}
	select {
	case err := <-smallEnded:
		t.Errorf("the other pod terminated: %v", err)
	default:
	}
	if oom, err := os.ReadFile(filepath.Join(h.Dir("memory", l.Pod(hog.Status.QOSClass, hog.UID)), "memory.oom_control")); err == nil && !strings.Contains(string(oom), "oom_kill 0") {
		t.Errorf("the kernel OOM killer was faster: %s", oom)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestGuardNeedsPodsCgroup(t *testing.T) {
	h, root, l := machine(t)
	c := config.DefaultKubelet().Pressure
	o := Options{Node: "n1", Client: fake.NewClientset(), Host: h, Cgroup: root, Layout: l, Log: klog.Background()}
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "no memory or PID threshold") {
		t.Errorf("without thresholds: %v", err)
	}
	o.Config, o.Layout.Root = c, root+"/nowhere"
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "does not exist: check that a kubelet runs") {
		t.Errorf("without pods: %v", err)
	}
}

// A conflict is retried unless the name belongs to another pod. A terminated pod is not
// changed.
func TestWriteEviction(t *testing.T) {
	old, same, terminated := pod("old"), pod("same"), pod("done")
	terminated.Status.Phase = corev1.PodSucceeded
	replacement := old.DeepCopy()
	replacement.UID = "another"
	client := fake.NewClientset(replacement, same, terminated)
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
	for _, p := range []*corev1.Pod{old, same} {
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
	if got := strings.Join(patched, " "); got != "old same same" {
		t.Errorf("patched %s", got)
	}
}
