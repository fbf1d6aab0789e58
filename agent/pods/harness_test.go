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
	betweenRestarts func() // optional

	mu          sync.Mutex
	changed     *sync.Cond
	reports     []runtime.Report
	events      []string
	lifecycles  map[types.UID]*lifecycle
	timedOut    bool
	onRecovered func() // called when the state of a pod was restored

	newMu      sync.Mutex
	newReports []runtime.Report
	newEvents  []string
	ready      chan struct{}
}

// lifecycle is a pod of the minimal agent.
type lifecycle struct {
	pod      *corev1.Pod
	machine  *podlifecycle.Machine
	wake     *time.Timer
	finished bool // no container runs

	released bool
}

// newHarness returns a harness that stops with the test.
func newHarness(t *testing.T, change ...func(*Options)) *harness {
	if !strings.Contains(t.Name(), "/") {
		t.Parallel() // mostly waiting
	}
	g := &harness{t: t, service: fake.New("busybox"), volumes: &volumes{}, lifecycles: map[types.UID]*lifecycle{}, ready: make(chan struct{}, 1)}
	g.changed = sync.NewCond(&g.mu)
	g.opts = Options{Service: g.service, NodeName: "n1", Node: testNode, Root: t.TempDir(), Images: imagePuller{g.service}, Volumes: g.volumes, Log: klog.Background(),
		Event: func(p *corev1.Pod, container, _, reason, message string) {
			g.newMu.Lock()
			defer g.newMu.Unlock()
			g.newEvents = append(g.newEvents, fmt.Sprintf("%s/%s %s: %s", p.Name, container, reason, message))
			g.wakeLoop()
		}}
	for _, f := range change {
		f(&g.opts)
	}
	g.start()
	t.Cleanup(func() { g.stop() })
	return g
}

// start starts a new agent on the existing state.
func (g *harness) start() {
	r, err := New(g.opts, g.onReport)
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	g.runner = r
	r.retryDelay = 5 * time.Millisecond
	loops.Go(func() { r.Run(ctx) })
	loops.Go(func() { g.loop(ctx) })
	g.stop = sync.OnceFunc(func() { cancel(); loops.Wait() })
}

// restart stops the agent and starts another one with the pods' last status.
func (g *harness) restart() {
	g.stop()
	g.mu.Lock()
	old := g.lifecycles
	g.lifecycles = map[types.UID]*lifecycle{}
	g.mu.Unlock()
	if g.betweenRestarts != nil {
		g.betweenRestarts()
	}
	g.start()
	for _, l := range old {
		if l.wake != nil {
			l.wake.Stop()
		}
		g.admit(l.pod)
	}
}

func testNode() *corev1.Node {
	size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Capacity: size, Allocatable: size,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}}}
}

// admit adds a pod as the agent does.
func (g *harness) admit(pod *corev1.Pod) {
	existing := g.runner.ExistingContainers(pod)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.onRecovered != nil {
		g.onRecovered()
	}
	l := &lifecycle{pod: pod, machine: podlifecycle.New(conversion.PodLifecycleSpec(&pod.Spec))}
	if len(existing) > 0 {
		l.machine = podlifecycle.Resume(conversion.PodLifecycleSpec(&pod.Spec), podlifecycle.Running, existing)
	}
	g.lifecycles[pod.UID] = l
	for _, s := range existing {
		if s.State == podlifecycle.ContainerRunning {
			g.runner.Resume(pod, s.Name, s)
		}
	}
	g.step(l)
}

// delete deletes a pod.
func (g *harness) delete(pod *corev1.Pod, grace time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.step(g.lifecycles[pod.UID], podlifecycle.Delete{Grace: grace})
}

// onReport receives a report of the Runner. The loop processes it.
func (g *harness) onReport(r runtime.Report) {
	g.newMu.Lock()
	defer g.newMu.Unlock()
	g.newReports = append(g.newReports, r)
	g.wakeLoop()
}

func (g *harness) wakeLoop() {
	select {
	case g.ready <- struct{}{}:
	default:
	}
}

// loop passes reports to the lifecycle machines.
func (g *harness) loop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.ready:
		}
		g.newMu.Lock()
		in, events := g.newReports, g.newEvents
		g.newReports, g.newEvents = nil, nil
		g.newMu.Unlock()
		g.mu.Lock()
		g.events = append(g.events, events...)
		for _, r := range in {
			g.reports = append(g.reports, r)
			if l := g.lifecycles[r.Pod]; l != nil {
				l.released = l.released || r.Released
				if r.Event != nil {
					g.step(l, r.Event)
				}
			}
		}
		g.changed.Broadcast()
		g.mu.Unlock()
	}
}

// waitUntil waits until ok returns true, which is called with g.mu held. It fails the test after
// 20 s.
func (g *harness) waitUntil(condition string, ok func() bool) {
	g.t.Helper()
	timer := time.AfterFunc(20*time.Second, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.timedOut = true
		g.changed.Broadcast()
	})
	defer timer.Stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	for !ok() {
		if g.timedOut {
			g.t.Fatalf("timed out waiting until %s\nreports: %s\nevents: %q\ncalls: %q", condition, formatReports(g.reports), g.events, g.service.Calls())
		}
		g.changed.Wait()
	}
}

// states describes the states of a pod's containers, for example "init=done a=up b=ended(1)".
// g.mu must be held.
func (g *harness) states(pod *corev1.Pod) string {
	l := g.lifecycles[pod.UID]
	init, main := l.machine.Statuses()
	var out []string
	for _, s := range append(init, main...) {
		word := [...]string{"idle", "starting", "up", "ended"}[s.State]
		switch s.State {
		case podlifecycle.ContainerTerminated:
			word = fmt.Sprintf("ended(%d %s)", s.Exit.Code, s.Exit.Reason)
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
func (g *harness) waitForStates(pod *corev1.Pod, want string) {
	g.t.Helper()
	g.waitUntil("states are "+want, func() bool { return g.states(pod) == want })
}

// count returns how often a call was made.
func (g *harness) count(call string) (n int) {
	for _, c := range g.service.Calls() {
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

// testPod returns a pod with containers of these names.
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

// volumes has no volumes. A test may make it fail.
type volumes struct {
	mu       sync.Mutex
	fail     []error
	prepared map[types.UID]int
	tornDown map[types.UID]int
}

func (v *volumes) Prepare(_ context.Context, pod *corev1.Pod) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.fail) > 0 {
		err := v.fail[0]
		v.fail = v.fail[1:]
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
func (v *volumes) UpdatePod(*corev1.Pod) {}
func (v *volumes) Teardown(uid types.UID) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.tornDown != nil {
		v.tornDown[uid]++
	}
	return nil
}
func (v *volumes) Pods() ([]types.UID, error) { return nil, nil }

// step runs the lifecycle machine and performs its effects. g.mu must be held.
func (g *harness) step(l *lifecycle, events ...podlifecycle.Event) {
	effects, wake := l.machine.Step(time.Now(), events...)
	for _, e := range effects {
		switch e := e.(type) {
		case podlifecycle.Start:
			g.runner.Start(l.pod, e.Container, e.Attempt)
		case podlifecycle.RunPreStop:
			g.runner.PreStop(l.pod, e.Container)
		case podlifecycle.Stop:
			g.runner.Stop(l.pod.UID, e.Container)
		case podlifecycle.Kill:
			g.runner.Kill(l.pod.UID, e.Container)
		case podlifecycle.StartProbe:
			g.runner.StartProbe(l.pod, e.Container, e.Probe, e.Attempt)
		case podlifecycle.StopProbe:
			g.runner.StopProbe(l.pod.UID, e.Container, e.Probe)
		case podlifecycle.PodStopped:
			l.finished = true
			g.runner.Release(l.pod)
		}
	}
	if !wake.IsZero() {
		l.wake = time.AfterFunc(time.Until(wake), func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.lifecycles[l.pod.UID] == l {
				g.step(l)
			}
		})
	}
}
