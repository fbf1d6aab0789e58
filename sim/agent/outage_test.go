package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/nodepressure"
	"github.com/berthproject/berth/engine/nodepressure/usage"
	"github.com/berthproject/berth/internal/config"
	"github.com/berthproject/berth/sim"
	"github.com/berthproject/berth/sim/agent"
	"github.com/berthproject/berth/sim/store"
)

// fixture is a world with the agent of the node n1 and no other actors. The latency of requests is 1 s. The node has 4 CPUs
// and no ephemeral storage.
type fixture struct {
	t *testing.T
	*sim.World
	agents   *agent.Agents
	timeline []string
	commits  []store.Change // of nodes
}

// start returns a fixture 10 s after the start. The watch lags.
func start(t *testing.T, lag time.Duration) *fixture {
	t.Helper()
	f := &fixture{t: t}
	f.World = sim.New(sim.Options{Latency: time.Second, Lag: lag, OnLine: func(l sim.Line) { f.timeline = append(f.timeline, l.Text) }})
	f.OnCommit(func(c store.Change) {
		if c.Kind == store.Nodes {
			f.commits = append(f.commits, c)
		}
	})
	f.agents = agent.New(f.World, agent.Options{Pressure: config.DefaultKubelet().Pressure, Reserve: nodepressure.DiskReserveConfig{TransitionPeriod: nodepressure.DefaultDiskReserveTransition}})
	t.Cleanup(f.Close)
	f.create(newNode())
	f.run(10 * time.Second)
	return f
}

func newNode() *corev1.Node {
	labels := map[string]string{corev1.LabelHostname: "n1", corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: labels}}
	n.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")}
	store.ApplyDefaults(n)
	return n
}

// newPod returns a pod that is bound to n1.
func newPod(name, cpu string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: "n1"}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	store.ApplyDefaults(p)
	return p
}

func (f *fixture) create(o store.Object) {
	f.t.Helper()
	if err := f.API().Create(o); err != nil {
		f.t.Fatal(err)
	}
}

// run runs the world for a duration.
func (f *fixture) run(d time.Duration) {
	f.t.Helper()
	if err := f.Run(f.Elapsed() + d); err != nil {
		f.t.Fatal(err)
	}
}

// updateNode changes n1 as another client does.
func (f *fixture) updateNode(change func(*corev1.Node)) {
	f.t.Helper()
	err := f.API().Update(store.Nodes, "n1", store.Precondition{}, func(o store.Object) error {
		n, _ := o.(*corev1.Node)
		n.Status = *n.Status.DeepCopy()
		change(n)
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

// setCondition sets a condition of n1 as another client does.
func (f *fixture) setCondition(t corev1.NodeConditionType, status corev1.ConditionStatus) {
	f.t.Helper()
	f.updateNode(func(n *corev1.Node) {
		if c := store.NodeCondition(n, t); c != nil {
			c.Status = status
			return
		}
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: t, Status: status})
	})
}

func (f *fixture) node() *corev1.Node {
	o, _ := f.API().Get(store.Nodes, "n1")
	n, _ := o.(*corev1.Node)
	return n
}

// wantPod checks the phase and the reason of a pod.
func (f *fixture) wantPod(key string, phase corev1.PodPhase, reason string) {
	f.t.Helper()
	p := f.API().Pod(key)
	if p == nil {
		f.t.Fatalf("at %s: pod %s does not exist", f.Elapsed(), key)
	}
	if p.Status.Phase != phase || p.Status.Reason != reason {
		f.t.Errorf("at %s: got pod %s with status %+v, want phase %s and reason %q", f.Elapsed(), key, p.Status, phase, reason)
	}
}

// wantCPU checks which CPU capacity the node has in the API.
func (f *fixture) wantCPU(want string) {
	f.t.Helper()
	if got := f.node().Status.Capacity.Cpu().String(); got != want {
		f.t.Errorf("got %s CPUs, want %s", got, want)
	}
}

// logs reports whether the timeline has a line with the text.
func (f *fixture) logs(text string) bool {
	return strings.Contains(strings.Join(f.timeline, "\n"), text)
}

// TestConnectingAgentGetsNoChanges checks that a change that is delivered while an agent connects does not start it with a
// partial list: it would remove the containers of the other pods.
func TestConnectingAgentGetsNoChanges(t *testing.T) {
	for name, connect := range map[string]func(*fixture){
		"restart": func(f *fixture) {
			f.agents.StopAgent("n1")
			f.run(time.Minute)
			f.agents.StartAgent("n1")
		},
		"restart during a partition": func(f *fixture) {
			f.agents.StopAgent("n1")
			f.agents.Partition("n1")
			f.run(time.Minute)
			f.agents.StartAgent("n1")
			f.agents.Reconnect("n1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, 0)
			f.create(newPod("big", "3"))
			f.run(time.Minute)
			connect(f)
			f.create(newPod("late", "3"))
			f.updateNode(func(n *corev1.Node) { n.Annotations = map[string]string{usage.Annotation: "memory=1Gi"} })
			f.run(time.Minute)
			f.wantPod("default/big", corev1.PodRunning, "")
			f.wantPod("default/late", corev1.PodFailed, "OutOfcpu")
		})
	}
}

// TestIdleMachineReconnects checks that an idle machine starts its agent with all pods that were bound during a partition.
func TestIdleMachineReconnects(t *testing.T) {
	f := start(t, 0)
	f.agents.Partition("n1")
	f.create(newPod("first", "3"))
	f.run(time.Minute)
	f.agents.Reconnect("n1")
	f.run(500 * time.Millisecond)
	f.create(newPod("second", "3"))
	f.run(time.Minute)
	f.wantPod("default/first", corev1.PodRunning, "")
	f.wantPod("default/second", corev1.PodFailed, "OutOfcpu")
}

// TestResizeDuringPartition checks that an agent does not read the new resources of its node through a partition, and
// adopts them after it.
func TestResizeDuringPartition(t *testing.T) {
	f := start(t, 0)
	f.create(newPod("p", "1"))
	f.run(time.Minute)
	f.agents.Partition("n1")
	resources := f.node().Status.Capacity.DeepCopy()
	resources[corev1.ResourceCPU] = resource.MustParse("8")
	f.updateNode(func(n *corev1.Node) { n.Status.Capacity, n.Status.Allocatable = resources, resources })
	f.create(newPod("unseen", "1"))
	f.run(time.Minute)
	f.wantPod("default/unseen", corev1.PodPending, "")
	reconnected := f.Now()
	f.agents.Reconnect("n1")
	f.run(time.Minute)
	f.wantCPU("8")
	f.create(newPod("big", "5"))
	f.run(time.Minute)
	f.wantPod("default/big", corev1.PodRunning, "")
	s := f.API().Pod("default/unseen").Status.ContainerStatuses
	if len(s) != 1 || s[0].State.Running == nil || s[0].State.Running.StartedAt.Time.Before(reconnected) {
		t.Errorf("got container statuses %+v, want one that started after the partition", s)
	}
}

// TestRecreationDuringPartition checks that an agent restarts for a node that was deleted and created again during a
// partition, with the resources of the new node.
func TestRecreationDuringPartition(t *testing.T) {
	f := start(t, 0)
	f.create(newPod("p", "1"))
	f.run(time.Minute)
	f.agents.Partition("n1")
	if err := f.API().Delete(store.Nodes, "n1", store.Precondition{}); err != nil {
		t.Fatal(err)
	}
	n := newNode()
	n.Status.Capacity[corev1.ResourceCPU], n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8"), resource.MustParse("8")
	f.create(n)
	f.run(time.Minute)
	f.agents.Reconnect("n1")
	f.run(time.Minute)
	f.create(newPod("big", "5"))
	f.run(time.Minute)
	f.wantCPU("8")
	f.wantPod("default/big", corev1.PodRunning, "")
}

// TestHeldRequestsArriveAfterPartition checks that a request that meets a partition is executed after it.
func TestHeldRequestsArriveAfterPartition(t *testing.T) {
	f := start(t, 0)
	f.create(newPod("p", "1"))
	f.run(500 * time.Millisecond) // the status write is in flight
	f.agents.Partition("n1")
	f.run(time.Minute)
	f.wantPod("default/p", corev1.PodPending, "")
	f.agents.Reconnect("n1")
	f.run(time.Second)
	f.wantPod("default/p", corev1.PodRunning, "")
}

// TestStopDuringPartition checks that an agent that is stopped during a partition starts only when it is started and
// connected, and then knows its containers.
func TestStopDuringPartition(t *testing.T) {
	for name, steps := range map[string][2]func(*agent.Agents, string){
		"starts first":     {(*agent.Agents).StartAgent, (*agent.Agents).Reconnect},
		"reconnects first": {(*agent.Agents).Reconnect, (*agent.Agents).StartAgent},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, 0)
			f.create(newPod("p", "1"))
			f.run(time.Minute)
			f.agents.Partition("n1")
			f.run(10 * time.Second)
			f.agents.StopAgent("n1")
			f.create(newPod("new", "1"))
			f.run(time.Minute)
			steps[0](f.agents, "n1")
			f.run(time.Minute)
			f.wantPod("default/new", corev1.PodPending, "")
			if !f.agents.IsSilent("n1") {
				t.Error("the agent is not silent")
			}
			steps[1](f.agents, "n1")
			f.run(time.Minute)
			f.wantPod("default/p", corev1.PodRunning, "")
			f.wantPod("default/new", corev1.PodRunning, "")
			if s := f.API().Pod("default/p").Status.ContainerStatuses; len(s) != 1 || s[0].RestartCount != 0 {
				t.Errorf("got container statuses %+v, want one without a restart", s)
			}
		})
	}
}

// TestOldListDoesNotStopPods checks that a list that is older than the start of the agent does not stop pods that it lacks.
func TestOldListDoesNotStopPods(t *testing.T) {
	f := start(t, 10*time.Second)
	f.create(newPod("old", "1"))
	f.run(time.Minute)
	f.DropWatch("agents", store.Pods, time.Second)
	f.run(time.Second + 500*time.Millisecond) // the list without the new pod is in flight
	f.create(newPod("new", "1"))
	f.agents.StopAgent("n1")
	f.agents.StartAgent("n1")
	f.run(time.Minute)
	f.wantPod("default/new", corev1.PodRunning, "")
	if f.logs("default/new is stopped") {
		t.Errorf("timeline %q, want no stop of the new pod", f.timeline)
	}
}

// TestConditionsAreCorrected checks that an agent corrects its own conditions, and ignores those of other writers.
func TestConditionsAreCorrected(t *testing.T) {
	f := start(t, 0)
	f.create(newPod("p", "1"))
	f.run(time.Minute)
	f.agents.ReportCondition("n1", corev1.NodeDiskPressure, corev1.ConditionTrue)
	f.run(time.Minute)
	for _, tc := range []struct {
		condition corev1.NodeConditionType
		written   corev1.ConditionStatus
		want      corev1.ConditionStatus
		commits   int // of the node, within a minute
	}{
		{corev1.NodeDiskPressure, corev1.ConditionFalse, corev1.ConditionTrue, 2},
		{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.ConditionFalse, 2},
		{corev1.NodePIDPressure, corev1.ConditionUnknown, corev1.ConditionFalse, 2},
		{"example.com/Problem", corev1.ConditionUnknown, corev1.ConditionUnknown, 1},
	} {
		t.Run(string(tc.condition), func(t *testing.T) {
			f.commits = nil
			f.setCondition(tc.condition, tc.written)
			f.run(time.Minute)
			if got := store.NodeConditionStatus(f.node(), tc.condition); got != tc.want || len(f.commits) != tc.commits {
				t.Errorf("got %s and %d changes of the node, want %s and %d", got, len(f.commits), tc.want, tc.commits)
			}
		})
	}
}

// TestUnsafeSysctlsAreAllowed checks that a running pod with an unsafe sysctl keeps running, because its node must have
// allowed it.
func TestUnsafeSysctlsAreAllowed(t *testing.T) {
	f := start(t, 0)
	p := newPod("p", "1")
	p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "65536"}, {Name: "net/core/somaxconn", Value: "1024"}}}
	now := metav1.NewTime(f.Now())
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}}
	f.create(p)
	f.run(time.Minute)
	f.wantPod("default/p", corev1.PodRunning, "")
}

// TestInvalidAnnotationsAreLogged checks that the timeline has one line for each invalid annotation of a node, a new pod and
// a pod that runs at the start, also after a restart of the agent.
func TestInvalidAnnotationsAreLogged(t *testing.T) {
	f := start(t, 0)
	created, running := newPod("created", "1"), newPod("running", "1")
	created.Annotations = map[string]string{usage.Annotation: "memory=foo"}
	running.Annotations = map[string]string{usage.Annotation: "memory=bar"}
	now := metav1.NewTime(f.Now())
	running.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}}
	f.updateNode(func(n *corev1.Node) { n.Annotations = map[string]string{usage.CapacityAnnotation: "nodefs=foo"} })
	f.create(running)
	f.create(created)
	f.run(time.Minute)
	f.agents.StopAgent("n1")
	f.agents.StartAgent("n1")
	f.run(time.Minute)
	for _, want := range []string{"node n1: sim.berth.dev/capacity: ", `default/created: sim.berth.dev/usage: "memory=foo"`, `default/running: sim.berth.dev/usage: "memory=bar"`} {
		count := 0
		for _, line := range f.timeline {
			if strings.HasPrefix(line, want) {
				count++
			}
		}
		if count != 1 {
			t.Errorf("got %d lines %q, want 1; timeline %q", count, want, f.timeline)
		}
	}
}

// TestPodsInLeaseNamespace checks that an agent writes the statuses of pods in the namespace of Leases.
func TestPodsInLeaseNamespace(t *testing.T) {
	f := start(t, 0)
	p := newPod("p", "1")
	p.Namespace = corev1.NamespaceNodeLease
	f.create(p)
	f.run(time.Minute)
	f.wantPod(corev1.NamespaceNodeLease+"/p", corev1.PodRunning, "")
}

// TestRejectionDoesNotWriteNode checks that an agent does not write the status of a node without ephemeral storage because
// it reads the node for a rejection.
func TestRejectionDoesNotWriteNode(t *testing.T) {
	f := start(t, 0)
	f.commits = nil
	for i := range 3 {
		f.create(newPod(fmt.Sprintf("p%d", i), "5"))
		f.run(time.Minute)
		f.wantPod(fmt.Sprintf("default/p%d", i), corev1.PodFailed, "OutOfcpu")
	}
	if len(f.commits) != 0 {
		t.Errorf("got %d changes of the node, want none", len(f.commits))
	}
}
