package e2e

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/virtualnode"
	"github.com/berthproject/berth/internal/testkit/container"
)

// TestRealNodes tests node pressure on real nodes, and kills of their agents, with the embedded runtime
// and with containerd. make test-v2 runs it on cgroup v2 without containerd. Only make soak tests node
// pressure with containerd.
func TestRealNodes(t *testing.T) {
	t.Parallel()
	skipIfMissing(t, true)
	m := newNodeMachine(t)
	parallel := func(t *testing.T) {
		if !soaking() && !emulated() {
			t.Parallel()
		}
	}
	t.Run("embedded", func(t *testing.T) {
		parallel(t)
		m.testNodePressure(t, true)
	})
	t.Run("embedded killed", func(t *testing.T) {
		parallel(t)
		m.testAgentKill(t, true)
	})
	if emulated() {
		return // without containerd
	}
	t.Run("containerd", func(t *testing.T) {
		if !soaking() {
			t.Skip("make soak runs it: it takes longer than with the embedded runtime")
		}
		m.testNodePressure(t, false)
	})
	t.Run("containerd killed", func(t *testing.T) {
		parallel(t)
		skipIfMissing(t, false)
		m.testAgentKill(t, false)
	})
}

// constrainedKubeletConfig is the configuration of nodes with few resources.
const constrainedKubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {memory.available: 100Mi, pid.available: "200", nodefs.available: "20%", nodefs.inodesFree: "20%", imagefs.available: "20%", imagefs.inodesFree: "20%"}
evictionPressureTransitionPeriod: 1s
imageMinimumGCAge: 1ms
`

// constrainedNode is a node with few resources.
type constrainedNode struct {
	*realNode
	registry  *oci.Registry
	imagefs   string
	survivors []string // names of the pods that must not be evicted
	evicted   int      // pods evicted so far
}

// testNodePressure tests a node that runs out of memory, processes, inodes and bytes, one after the
// other. Each time only the pod that used the resource is evicted, or unused images are removed, and the
// node recovers.
func (m *nodeMachine) testNodePressure(t *testing.T, useEmbedded bool) {
	skipIfMissing(t, useEmbedded)
	name := map[bool]string{true: "constrained", false: "constrained-cri"}[useEmbedded]
	n := &constrainedNode{registry: m.registry, imagefs: container.Disk(t, 320<<20, 6000)}
	n.realNode = m.add(t, useEmbedded, virtualnode.Options{Name: name, Memory: 640 << 20, Disk: 160 << 20, Inodes: 4000, Pids: 700}, n.imagefs)
	n.agentArgs = []string{"--low-diskspace-threshold-mb", "0", "--config", n.write(name+".yaml", constrainedKubeletConfig)}
	n.startAgent(t)
	n.startSurvivors(t)
	for _, tc := range []struct {
		name string
		test func(*testing.T)
	}{
		{"memory", n.testMemoryEviction}, {"processes", n.testPIDEviction}, {"inodes", n.testInodeEviction}, {"bytes", n.testDiskEviction},
		{"image inodes", n.testImageGCByInodes}, {"images", n.testImageGCByBytes}, {"full disk", n.testDiskPressureAdmission},
	} {
		if !t.Run(tc.name, tc.test) {
			return
		}
	}
	n.deletePods(t)
	if code := n.agent.stop(); code != 0 {
		t.Errorf("the agent exited with code %d, want 0: %s", code, n.agent.out.String())
	}
}

// withScratch adds an emptyDir to a pod and mounts it at /scratch in the container.
func withScratch(s *corev1.PodSpec, c *corev1.Container) {
	s.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
}

// startSurvivors starts the pods that must survive. Each uses a little of every resource.
func (n *constrainedNode) startSurvivors(t *testing.T) {
	t.Helper()
	start := time.Now()
	n.survivors = []string{"bytes", "inodes", "memory"}
	n.createPod(t, "bytes", withScratch, "-listen=:80", "-write=16Mi", "-write-to=/scratch/file")
	n.createPod(t, "inodes", withScratch, "-listen=:80", "-inodes=300", "-inodes-in=/scratch")
	n.createPod(t, "memory", nil, "-listen=:80", "-memory=64Mi", "-processes=20")
	for _, name := range n.survivors {
		if p := n.waitForPhase(t, name, corev1.PodRunning, ""); p.Status.PodIP == "" {
			t.Errorf("pod %s has no IP address, want one", name)
		}
	}
	t.Logf("%d pods run after %d ms", len(n.survivors), time.Since(start).Milliseconds())
}

// checkOnlyEviction checks that one more pod was evicted, because of this resource, that the
// survivors run, and that the pressure ends.
func (n *constrainedNode) checkOnlyEviction(t *testing.T, name, resource string, condition corev1.NodeConditionType) {
	t.Helper()
	p := n.waitForPhase(t, name, corev1.PodFailed, "Evicted")
	if !strings.Contains(p.Status.Message, "The node was low on resource: "+resource) {
		t.Errorf("pod %s was evicted with %q, want a message that names %s", name, p.Status.Message, resource)
	}
	n.evicted++
	reported := time.Now()
	n.waitForCondition(t, condition, corev1.ConditionFalse)
	t.Logf("%s: the pressure ended %d ms after the eviction was reported", name, time.Since(reported).Milliseconds())
	n.checkSurvivors(t)
}

// checkSurvivors checks that the survivors run and that no other pod was evicted.
func (n *constrainedNode) checkSurvivors(t *testing.T) {
	t.Helper()
	all, err := n.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	evicted, running := 0, map[string]bool{}
	for _, p := range all {
		if p.Status.Reason == "Evicted" {
			evicted++
		}
		running[p.Name] = p.Status.Phase == corev1.PodRunning && p.Status.ContainerStatuses[0].RestartCount == 0
	}
	if evicted != n.evicted {
		t.Errorf("got %d evicted pods, want %d: %+v", evicted, n.evicted, all)
	}
	for _, name := range n.survivors {
		if !running[name] {
			t.Errorf("pod %s is not running or was restarted, want it running without restarts", name)
		}
	}
}
