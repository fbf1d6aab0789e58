package pods

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/runtime"
	"github.com/berthproject/berth/agent/runtime/fake"
	"github.com/berthproject/berth/engine/podlifecycle"
	"github.com/berthproject/berth/internal/conversion"
)

// harness is a Runner over a fake runtime with a minimal agent: a pod lifecycle machine per pod.
type harness struct {
	t               testing.TB
	runner          *Runner
	service         *fake.Service
	volumes         *volumes
	opts            Options
	stop            func()
	betweenRestarts func() // called by restart while no agent runs; optional

	mu          sync.Mutex
	changed     *sync.Cond
	reports     []runtime.Report
	events      []string
	lifecycles  map[types.UID]*lifecycle
	timedOut    bool
	onRecovered func() // called when the state of a pod was restored

	newMu      sync.Mutex
	newReports []runtime.Report // not yet processed by loop
	newEvents  []string
	ready      chan struct{} // signals new reports or events
}

// lifecycle is a pod of the minimal agent.
type lifecycle struct {
	pod      *corev1.Pod
	machine  *podlifecycle.Machine
	wake     *time.Timer
	finished bool // no container runs
	released bool // the Runner has reported Released
}

// newHarness returns a harness that stops with the test.
func newHarness(t *testing.T, change ...func(*Options)) *harness {
	if !strings.Contains(t.Name(), "/") {
		t.Parallel() // mostly waiting
	}
	h := &harness{t: t, service: fake.New("busybox"), volumes: &volumes{}, lifecycles: map[types.UID]*lifecycle{}, ready: make(chan struct{}, 1)}
	h.changed = sync.NewCond(&h.mu)
	h.opts = Options{Service: h.service, NodeName: "n1", Node: testNode, Root: t.TempDir(), Images: imagePuller{h.service}, Volumes: h.volumes, Log: klog.Background(),
		Event: func(p *corev1.Pod, container, _, reason, message string) {
			h.newMu.Lock()
			defer h.newMu.Unlock()
			h.newEvents = append(h.newEvents, fmt.Sprintf("%s/%s %s: %s", p.Name, container, reason, message))
			h.wakeLoop()
		}}
	for _, f := range change {
		f(&h.opts)
	}
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

// start starts a new agent on the existing state.
func (h *harness) start() {
	r, err := New(h.opts, h.onReport)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	h.runner = r
	r.retryDelay = 5 * time.Millisecond
	loops.Go(func() { r.Run(ctx) })
	loops.Go(func() { h.loop(ctx) })
	h.stop = sync.OnceFunc(func() { cancel(); loops.Wait() })
}

// restart stops the agent and starts another one with the pods' last status.
func (h *harness) restart() {
	h.stop()
	h.mu.Lock()
	previous := h.lifecycles
	h.lifecycles = map[types.UID]*lifecycle{}
	h.mu.Unlock()
	if h.betweenRestarts != nil {
		h.betweenRestarts()
	}
	h.start()
	for _, l := range previous {
		if l.wake != nil {
			l.wake.Stop()
		}
		h.admit(l.pod)
	}
}

func testNode() *corev1.Node {
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Capacity: size, Allocatable: size,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}}}
}

// admit adds a pod as the agent does.
func (h *harness) admit(pod *corev1.Pod) {
	existing := h.runner.ExistingContainers(pod)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.onRecovered != nil {
		h.onRecovered()
	}
	l := &lifecycle{pod: pod, machine: podlifecycle.New(conversion.PodLifecycleSpec(&pod.Spec))}
	if len(existing) > 0 {
		l.machine = podlifecycle.Resume(conversion.PodLifecycleSpec(&pod.Spec), podlifecycle.Running, existing)
	}
	h.lifecycles[pod.UID] = l
	for _, s := range existing {
		if s.State == podlifecycle.ContainerRunning {
			h.runner.Resume(pod, s.Name, s)
		}
	}
	h.step(l)
}

func (h *harness) delete(pod *corev1.Pod, grace time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.step(h.lifecycles[pod.UID], podlifecycle.Delete{Grace: grace})
}

// onReport receives a report of the Runner. The loop processes it.
func (h *harness) onReport(r runtime.Report) {
	h.newMu.Lock()
	defer h.newMu.Unlock()
	h.newReports = append(h.newReports, r)
	h.wakeLoop()
}

func (h *harness) wakeLoop() {
	select {
	case h.ready <- struct{}{}:
	default:
	}
}

// loop passes reports to the lifecycle machines.
func (h *harness) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.ready:
		}
		h.newMu.Lock()
		reports, events := h.newReports, h.newEvents
		h.newReports, h.newEvents = nil, nil
		h.newMu.Unlock()
		h.mu.Lock()
		h.events = append(h.events, events...)
		for _, r := range reports {
			h.reports = append(h.reports, r)
			if l := h.lifecycles[r.Pod]; l != nil {
				l.released = l.released || r.Released
				if r.Event != nil {
					h.step(l, r.Event)
				}
			}
		}
		h.changed.Broadcast()
		h.mu.Unlock()
	}
}

// waitUntil waits until ok, which is called with h.mu held, returns true. It fails the test after
// 20 s.
func (h *harness) waitUntil(condition string, ok func() bool) {
	h.t.Helper()
	timer := time.AfterFunc(20*time.Second, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.timedOut = true
		h.changed.Broadcast()
	})
	defer timer.Stop()
	h.mu.Lock()
	defer h.mu.Unlock()
	for !ok() {
		if h.timedOut {
			h.t.Fatalf("timed out waiting until %s\nreports: %s\nevents: %q\ncalls: %q", condition, formatReports(h.reports), h.events, h.service.Calls())
		}
		h.changed.Wait()
	}
}

// states describes the states of a pod's containers, for example "init=terminated(0 ) a=running
// b=starting(ErrImagePull)". h.mu must be held.
func (h *harness) states(pod *corev1.Pod) string {
	l := h.lifecycles[pod.UID]
	init, main := l.machine.Statuses()
	var out []string
	for _, s := range append(init, main...) {
		word := [...]string{"not-started", "starting", "running", "terminated"}[s.State]
		switch s.State {
		case podlifecycle.ContainerTerminated:
			word = fmt.Sprintf("terminated(%d %s)", s.Exit.Code, s.Exit.Reason)
		case podlifecycle.ContainerStarting:
			word += "(" + s.Reason + ")"
		}
		if s.Restarts > 0 {
			word += fmt.Sprintf("#%d", s.Restarts)
		}
		out = append(out, s.Name+"="+word)
	}
	return strings.Join(out, " ")
}

// waitForStates waits until the pod's containers are in these states.
func (h *harness) waitForStates(pod *corev1.Pod, want string) {
	h.t.Helper()
	h.waitUntil("states are "+want, func() bool { return h.states(pod) == want })
}

// count returns how often a call was made.
func (h *harness) count(call string) (n int) {
	for _, c := range h.service.Calls() {
		if c == call {
			n++
		}
	}
	return n
}

func formatReports(reports []runtime.Report) string {
	var out []string
	for _, r := range reports {
		out = append(out, fmt.Sprintf("%s %T%+v released=%v", r.Pod, r.Event, r.Event, r.Released))
	}
	return strings.Join(out, "\n")
}

func testPod(name string, containers ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name)},
		Spec: corev1.PodSpec{NodeName: "n1", RestartPolicy: corev1.RestartPolicyAlways}}
	for _, c := range containers {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c, Image: "busybox", TerminationMessagePath: "/dev/termination-log"})
	}
	return p
}

// imagePuller pulls images from the fake runtime.
type imagePuller struct{ service runtime.Service }

func (i imagePuller) Ensure(ctx context.Context, _ *corev1.Pod, c *corev1.Container, sandbox *cri.PodSandboxConfig) (string, error) {
	image, err := i.service.ImageStatus(ctx, &cri.ImageSpec{Image: c.Image})
	if err == nil && image == nil {
		_, err = i.service.PullImage(ctx, &cri.ImageSpec{Image: c.Image}, nil, sandbox)
		if err == nil {
			image, err = i.service.ImageStatus(ctx, &cri.ImageSpec{Image: c.Image})
		}
	}
	if err != nil {
		return "", &WaitingError{Reason: "ErrImagePull", Message: err.Error(), RetryAt: time.Now().Add(time.Millisecond)}
	}
	return image.GetId(), nil
}

// volumes is a fake of Volumes. It has no mounts, and Prepare returns failures in order.
type volumes struct {
	mu       sync.Mutex
	failures []error
	prepared map[types.UID]int
	tornDown map[types.UID]int
	refresh  func() // if set, called by Refresh
}

func (v *volumes) Prepare(_ context.Context, pod *corev1.Pod) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.failures) > 0 {
		err := v.failures[0]
		v.failures = v.failures[1:]
		return err
	}
	if v.prepared == nil {
		v.prepared, v.tornDown = map[types.UID]int{}, map[types.UID]int{}
	}
	v.prepared[pod.UID]++
	return nil
}

func (v *volumes) Mounts(*corev1.Pod, *corev1.Container, func(string) (string, error)) ([]*cri.Mount, []*cri.Device, error) {
	return nil, nil, nil
}
func (v *volumes) MountImage(context.Context, *corev1.Pod, string, string) error { return nil }
func (v *volumes) UpdatePod(*corev1.Pod)                                         {}
func (v *volumes) Refresh(context.Context, types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refresh != nil {
		v.refresh()
	}
}
func (v *volumes) Teardown(uid types.UID) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tornDown != nil {
		v.tornDown[uid]++
	}
	return nil
}
func (v *volumes) Pods() ([]types.UID, error) { return nil, nil }

// step runs the lifecycle machine and performs its effects. h.mu must be held.
func (h *harness) step(l *lifecycle, events ...podlifecycle.Event) {
	effects, wake := l.machine.Step(time.Now(), events...)
	for _, e := range effects {
		switch e := e.(type) {
		case podlifecycle.Start:
			h.runner.Start(l.pod, e.Container, e.Attempt)
		case podlifecycle.RunPreStop:
			h.runner.PreStop(l.pod, e.Container)
		case podlifecycle.Stop:
			h.runner.Stop(l.pod.UID, e.Container)
		case podlifecycle.Kill:
			h.runner.Kill(l.pod.UID, e.Container)
		case podlifecycle.StartProbe:
			h.runner.StartProbe(l.pod, e.Container, e.Probe, e.Attempt)
		case podlifecycle.StopProbe:
			h.runner.StopProbe(l.pod.UID, e.Container, e.Probe)
		case podlifecycle.PodStopped:
			l.finished = true
			h.runner.Release(l.pod)
		}
	}
	if !wake.IsZero() {
		l.wake = time.AfterFunc(time.Until(wake), func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.lifecycles[l.pod.UID] == l {
				h.step(l)
			}
		})
	}
}
