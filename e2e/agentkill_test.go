package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/virtual"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/container"
)

// killed is a cluster with one real node whose agent, and whose container runtime,
// are processes of their own that can be killed.
type killed struct {
	*cluster
	client  kubernetes.Interface
	node    *virtual.Node
	daemon  *containerd.Process // nil: pods run in the agent's own runtime
	socket  string
	image   string
	agent   *process
	started int      // pods made
	there   []string // names of those that are not deleted, oldest first
	unknown int      // of which containerd could not say how they ended
	out     string   // where each start of a container leaves a line
}

// TestAgentAndRuntimeKilled kills the agent, and the container runtime, again and again
// while pods start, run, end and stop: none is lost, none runs twice, nothing is left.
func TestAgentAndRuntimeKilled(t *testing.T) {
	t.Run("containerd", func(t *testing.T) { agentKilled(t, false) })
	t.Run("embedded", func(t *testing.T) {
		if os.Getenv("BERTH_SOAK") == "" {
			t.Skip("for make soak: the time that all of these tests may take is spent; TestEmbeddedPods kills it once")
		}
		agentKilled(t, true)
	})
}

func agentKilled(t *testing.T, embeds bool) {
	rounds, pods := 2, 12
	if os.Getenv("BERTH_SOAK") != "" {
		rounds, pods = 20, 50
	} else {
		t.Parallel()
	}
	k := newKilled(t, embeds)
	k.make(t, pods)
	for i := range rounds {
		k.churn(t, pods/5, i)
		k.agent.kill()
		k.startAgent(t)
		k.churn(t, pods/5, i+3)
		if k.daemon == nil {
			continue
		}
		if err := k.daemon.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	k.settled(t)
	k.empty(t)
	if code := k.agent.stop(); code != 0 {
		t.Errorf("the agent ended with %d: %s", code, k.agent.out.String())
	}
	if t.Failed() {
		return
	}
	what := "agent and containerd killed %d times each"
	if embeds {
		what = "agent with its own runtime killed %d times"
	}
	fmt.Printf("soak: "+what+" among %d pods that start, run and stop (%d in all): none lost, none run twice, nothing left; of %d the runtime did not know how they ended\n", rounds, pods, k.started, k.unknown)
}

func newKilled(t *testing.T, embeds bool) *killed {
	t.Helper()
	if embeds {
		if err := embedded.Missing(); err != nil {
			testkit.Skip(t, "embedded runtime", err.Error())
		}
	} else if err := containerd.Missing(true); err != nil {
		testkit.Skip(t, "containerd", err.Error())
	}
	image, err := container.Registry(t).Add("workload", "1", container.Image(t))
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t)
	k := &killed{image: image}
	t.Cleanup(func() { sweep(t, h.path("virtual")) })
	place, err := virtual.At(h.path("virtual"))
	if err != nil {
		t.Fatal(err)
	}
	if k.node, err = place.Make(t.Context(), virtual.Options{Name: "v1", Memory: 2 << 30, Disk: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	if embeds {
		t.Cleanup(func() { k.wipe(t) })
	} else {
		k.daemon, k.socket, err = containerd.Start(t.Context(), containerd.Options{
			Dir: filepath.Join(k.node.Disk, "containerd"), State: k.node.RunDir, PodCIDR: k.node.Subnet, Bridge: k.node.Bridge})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.daemon.Stop)
	}
	k.out = filepath.Join(k.node.Disk, "out")
	if err := os.Mkdir(k.out, 0o755); err != nil {
		t.Fatal(err)
	}
	k.cluster = h.up("--nodes", "0")
	k.client = k.cluster.client()
	k.credential("v1", "--node", "v1")
	k.startAgent(t)
	return k
}

func (k *killed) startAgent(t *testing.T) {
	t.Helper()
	runtime := []string{"--runtime", "embedded", "--pod-cidr", k.node.Subnet}
	if k.daemon != nil {
		runtime = []string{"--runtime-endpoint", k.socket}
	}
	k.agent = k.start(append([]string{"agent", "--kubeconfig", k.path("v1.kubeconfig"), "--cgroup", k.node.Cgroup,
		"--root-dir", filepath.Join(k.node.Disk, "agent"), "--port", "0"}, runtime...)...)
	k.agent.says("agent of node v1")
}

// make makes n pods: every third one ends by itself, the others run on. Each start of a
// container leaves a line in a file of the pod's name.
func (k *killed) make(t *testing.T, n int) {
	t.Helper()
	for range n {
		name, last := fmt.Sprintf("p%d", k.started), "exec sleep 3600"
		policy := corev1.RestartPolicyAlways
		if k.started%3 == 0 {
			last, policy = "sleep 0.3", corev1.RestartPolicyNever
		}
		k.started++
		_, err := k.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				NodeName: "v1", RestartPolicy: policy, TerminationGracePeriodSeconds: ptr.To(int64(1)),
				Volumes: []corev1.Volume{{Name: "out", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: k.out}}},
					{Name: "mem", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}},
				Containers: []corev1.Container{{Name: "main", Image: k.image, Command: []string{"/bin/sh", "-c", "echo started >> /out/" + name + "; " + last},
					VolumeMounts: []corev1.VolumeMount{{Name: "out", MountPath: "/out"}, {Name: "mem", MountPath: "/mem"}}}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		k.there = append(k.there, name)
	}
}

// churn deletes the n oldest pods and makes n new ones, and returns when at least some of
// the new ones have been started: how many is another number each round, so that what
// follows comes at another moment.
func (k *killed) churn(t *testing.T, n, round int) {
	t.Helper()
	for _, name := range k.there[:n] {
		if err := k.client.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.there = k.there[n:]
	first := k.started
	k.make(t, n)
	some := round % (n + 1)
	eventually(t, happenWithin, func() error {
		started := 0
		for i := first; i < k.started; i++ {
			if k.starts(fmt.Sprintf("p%d", i)) > 0 {
				started++
			}
		}
		if started < some {
			return fmt.Errorf("%d of %d new pods have started, waiting for %d", started, n, some)
		}
		return nil
	})
}

// starts is how often a pod's container has been started.
func (k *killed) starts(pod string) int {
	lines, _ := os.ReadFile(filepath.Join(k.out, pod))
	return strings.Count(string(lines), "\n")
}

// settled waits until all pods are as they should be, and checks that each has run once.
func (k *killed) settled(t *testing.T) {
	t.Helper()
	eventually(t, 2*happenWithin, func() error {
		list, err := k.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var names []string
		var errs []error
		k.unknown = 0
		for _, p := range list.Items {
			names = append(names, p.Name)
			want := corev1.PodRunning
			if p.Spec.RestartPolicy == corev1.RestartPolicyNever {
				want = corev1.PodSucceeded
			}
			if unknown(&p) {
				k.unknown++
				continue
			}
			if p.Status.Phase != want {
				errs = append(errs, fmt.Errorf("%s is %s, want %s: %+v", p.Name, p.Status.Phase, want, p.Status.ContainerStatuses))
			}
		}
		if !sameNames(names, k.there) {
			errs = append(errs, fmt.Errorf("pods %v, want %v", names, k.there))
		}
		return errors.Join(errs...)
	})
	k.ranOnce(t)
}

// ranOnce checks that no container ran twice: one that is to end by itself was started once at
// most; one that is to run on is started again only as its status says, when its runtime
// died while it was starting it, and runs once now.
func (k *killed) ranOnce(t *testing.T) {
	t.Helper()
	now, err := k.running(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range k.started {
		name := fmt.Sprintf("p%d", i)
		there, ends, n := slices.Contains(k.there, name), i%3 == 0, k.starts(name)
		if ends && n > 1 || there && n == 0 {
			t.Errorf("%s was started %d times", name, n)
		}
		if !there || ends {
			continue
		}
		p, err := k.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if again := int(p.Status.ContainerStatuses[0].RestartCount); n > again+1 || now[name] != 1 {
			t.Errorf("%s was started %d times and restarted %d times; %d containers of it run", name, n, again, now[name])
		}
	}
}

// unknown says that a container ended while its runtime was dead, which then cannot say how:
// the pod has Failed, as with a kubelet, and is not run again.
func unknown(p *corev1.Pod) bool {
	for _, s := range p.Status.ContainerStatuses {
		if e := s.State.Terminated; e != nil && e.Reason == "Unknown" && e.ExitCode == 255 {
			return p.Spec.RestartPolicy == corev1.RestartPolicyNever && p.Status.Phase == corev1.PodFailed
		}
	}
	return false
}

func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// empty deletes all pods and waits until nothing of any is left on the node.
func (k *killed) empty(t *testing.T) {
	t.Helper()
	for _, name := range k.there {
		if err := k.client.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
	eventually(t, 2*happenWithin, func() error { return k.left(t.Context()) })
}

// left says what is left of pods.
func (k *killed) left(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var errs []error
	list, err := k.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		errs = append(errs, fmt.Errorf("%d pods in the API: %w", len(list.Items), err))
	}
	errs = append(errs, k.leftInRuntime(ctx))
	host, err := cgroup.Find()
	if err != nil {
		return err
	}
	for _, level := range []string{"", "burstable", "besteffort"} {
		groups, _ := host.Children(filepath.Join(k.node.Cgroup, "berthpods", level))
		for _, g := range groups {
			if strings.HasPrefix(filepath.Base(g), "pod") {
				errs = append(errs, fmt.Errorf("cgroup %s", g))
			}
		}
	}
	for _, dir := range []string{"pods", "log/pods"} {
		if files, _ := filepath.Glob(filepath.Join(k.node.Disk, "agent", dir, "*")); len(files) > 0 {
			errs = append(errs, fmt.Errorf("directories %v", files))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		// What is left to be mounted is the disk.
		if point := strings.Fields(line)[4]; strings.HasPrefix(point, k.node.Disk+"/") || strings.HasPrefix(point, k.node.RunDir+"/") {
			errs = append(errs, fmt.Errorf("mounted: %s", point))
		}
	}
	return errors.Join(append(errs, err)...)
}
