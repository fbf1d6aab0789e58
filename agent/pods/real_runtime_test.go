package pods

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientset "k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/volume"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/testkit/container"
)

// forEachRuntime runs test with containerd and with the embedded runtime.
func forEachRuntime(t *testing.T, test func(t *testing.T, r *realRuntime)) {
	t.Run("containerd", func(t *testing.T) {
		t.Parallel()
		r := container.StartContainerd(t, nil)
		test(t, &realRuntime{Harness: r.Harness, kill: r.Kill})
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		r := container.StartEmbedded(t, true, nil)
		// The embedded runtime is part of the agent's process.
		test(t, &realRuntime{Harness: r.Harness, embedded: true, kill: func() error { return nil }, betweenAgents: func() { r.Restart(t) }})
	})
}

// realRuntime is a container runtime that runs processes.
type realRuntime struct {
	*container.Harness
	embedded      bool
	kill          func() error // kills the runtime's daemon, if any
	betweenAgents func()       // called between two agents
}

// currentService mounts images through the current connection, which a restart replaces.
type currentService struct{ *realRuntime }

func (s currentService) MountsOfImage(ctx context.Context, owner, name, image string) ([]runtime.ImageMount, error) {
	return s.Service.MountsOfImage(ctx, owner, name, image)
}

func (s currentService) ReleaseImageMounts(ctx context.Context, owner string) error {
	return s.Service.ReleaseImageMounts(ctx, owner)
}

// newRealHarness returns a harness with a real runtime, volumes and cgroups.
func newRealHarness(t *testing.T, client kubernetes.Interface, r *realRuntime, change ...func(*Options)) *harness {
	t.Helper()
	r.LoadWorkload(t)
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(r.Dir, "agent")
	volumes, err := volume.New(volume.Options{Client: client, Root: root, Node: testNode, Log: klog.Background(), ImageMounts: currentService{r}})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Create(r.Cgroup, cgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, func(o *Options) {
		o.Service, o.Images, o.Client, o.Root, o.Volumes = r.Service, imagePuller{r.Service}, client, root, volumes
		o.Cgroups, o.CgroupRoot = host, r.Cgroup
		for _, f := range change {
			f(o)
		}
	})
	if r.betweenAgents != nil {
		h.betweenRestarts = func() {
			r.betweenAgents()
			h.opts.Service, h.opts.Images = r.Service, imagePuller{r.Service}
		}
	}
	return h
}

// realPod returns a pod whose containers run the test program with these arguments.
func realPod(name string, containers map[string][]string) *corev1.Pod {
	p := testPod(name)
	for _, c := range []string{"a", "b"} {
		if args, ok := containers[c]; ok {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c, Image: container.WorkloadName, Args: args, TerminationMessagePath: "/dev/termination-log"})
		}
	}
	return p
}

// waitForLog waits at most 20 s until a container's log contains text.
func (h *harness) waitForLog(pod *corev1.Pod, name, text string) {
	h.t.Helper()
	p, _ := h.runner.Pod(pod.Namespace, pod.Name)
	c, _ := p.Container(name)
	var got []byte
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if got, _ = os.ReadFile(c.LogPath); strings.Contains(string(got), text) {
			return
		}
	}
	h.t.Errorf("log of %s after 20 s: %q, want it to contain %q", name, got, text)
}

func TestRealPodLifecycle(t *testing.T) { forEachRuntime(t, realPodLifecycle) }

func realPodLifecycle(t *testing.T, r *realRuntime) {
	client := clientset.NewClientset(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"}, Data: map[string]string{"COLOR": "green"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.9", Ports: []corev1.ServicePort{{Port: 5432}}}})
	h := newRealHarness(t, client, r)
	pod := realPod("web", map[string][]string{"a": nil, "b": {"-lines=1"}})
	a := &pod.Spec.Containers[0]
	a.Command = []string{"/bin/sh", "-c", `echo "$WHO $COLOR $DB_SERVICE_PORT $(hostname)"; cat /etc/hosts; echo last words > /dev/termination-log; sleep 1; exit 7`}
	a.Env = []corev1.EnvVar{{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}, {Name: "WHO", Value: "ip=$(IP)"}}
	a.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	a.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	a.VolumeMounts = []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
	h.admit(pod)
	h.waitUntil("both containers run", func() bool {
		s := h.states(pod)
		return strings.Contains(s, "a=running") && strings.Contains(s, "b=running")
	})
	ip := ""
	h.waitUntil("the pod's address is reported", func() bool {
		for _, report := range h.reports {
			if len(report.Addresses) > 0 {
				ip = report.Addresses[0]
			}
		}
		return ip != ""
	})
	h.waitForLog(pod, "a", "ip="+ip+" green 5432 web")
	h.waitForLog(pod, "a", ip+"\tweb")
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	group := Cgroup(r.Cgroup, pod)
	if !host.Exists(group) {
		t.Errorf("cgroup %s of the running pod does not exist, want it to exist", group)
	}
	h.waitUntil("a exits with 7 and its last words, and restarts", func() bool {
		_, cs := h.lifecycles[pod.UID].machine.Statuses()
		return cs[0].State == podlifecycle.ContainerRunning && cs[0].Restarts == 1 && cs[0].Last.Code == 7 && cs[0].Last.Message == "last words\n"
	})
	h.delete(pod, 10*time.Second)
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
	if host.Exists(group) {
		t.Errorf("cgroup %s exists after the release, want it removed", group)
	}
	h.runner.Forget(pod.UID)
	h.waitUntilRealPodRemoved(pod)
}

// waitUntilRealPodRemoved waits until the Runner has removed a pod, and checks that the runtime does not
// have it.
func (h *harness) waitUntilRealPodRemoved(pod *corev1.Pod) {
	h.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); h.runner.lookup(pod.UID) != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("pod %s exists 20 s after Forget, want it removed", pod.Name)
		}
	}
	if all, err := h.runner.listExisting(h.t.Context(), nil); err != nil || all[pod.UID] != nil {
		h.t.Errorf("pod in the runtime: %v, %v, want none", all[pod.UID], err)
	}
}

func TestRealOOMKilled(t *testing.T) { forEachRuntime(t, realOOMKilled) }

func realOOMKilled(t *testing.T, r *realRuntime) {
	h := newRealHarness(t, nil, r)
	pod := realPod("oom", map[string][]string{"a": {"-memory=256Mi"}, "b": nil})
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
	pod.Spec.Containers[1].Command = []string{"/bin/sh", "-c", "kill -9 $$; sleep 1; exec /bin/sh -c 'exit 137'"}
	h.admit(pod)
	h.waitForStates(pod, "a=terminated(137 OOMKilled) b=terminated(137 )")
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
}

func TestRealConfinement(t *testing.T) { forEachRuntime(t, realConfinement) }

func realConfinement(t *testing.T, r *realRuntime) {
	h := newRealHarness(t, nil, r)
	pod := realPod("strict", map[string][]string{"a": nil})
	a := &pod.Spec.Containers[0]
	a.Command = []string{"/bin/sh", "-c", `id; touch /x || echo read-only; grep -E "CapEff|Seccomp:|NoNewPrivs" /proc/self/status; echo score $(cat /proc/self/oom_score_adj); cat /etc/resolv.conf; sleep 3600`}
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr(int64(1000)), RunAsGroup: ptr(int64(1000)), RunAsNonRoot: ptr(true), FSGroup: ptr(int64(77)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	a.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: ptr(true), AllowPrivilegeEscalation: ptr(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	a.Lifecycle = &corev1.Lifecycle{PostStart: execHook("/bin/sh", "-c", "echo hook > /proc/1/fd/1"), PreStop: execHook("/bin/sh", "-c", "echo bye > /proc/1/fd/1")}
	pod.Spec.DNSPolicy, pod.Spec.DNSConfig = corev1.DNSNone, &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.53"}}
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	for _, want := range []string{"uid=1000(user) gid=1000(user)", "groups=77,", "read-only", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "score 1000", "nameserver 192.0.2.53", "hook"} {
		h.waitForLog(pod, "a", want)
	}
	p, _ := h.runner.Pod("default", "strict")
	c, _ := p.Container("a")
	code, out, err := h.runner.Exec(t.Context(), c.ID, []string{"/bin/sh", "-c", "echo out; exit 5"}, 10*time.Second)
	if code != 5 || out != "out\n" || err != nil {
		t.Errorf("Exec: %d, %q, %v, want 5 and out", code, out, err)
	}
	h.delete(pod, 3*time.Second) // the shell ignores SIGTERM
	h.waitForLog(pod, "a", "bye")
	h.waitForStates(pod, "a=terminated(137 )")
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
}
