package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/cgroup"
	agentpods "github.com/berthproject/berth/agent/pods"
	"github.com/berthproject/berth/agent/virtualnode"
)

// diskFills and memoryFills are the places that a container can fill, on the node's disk and in its memory. Each function
// returns the arguments of a container that writes this many bytes to the place.
var (
	diskFills = []fillPlace{
		{"emptydir", writeTo("/scratch/file")},
		{"layer", writeTo("/layer")},
		{"log", func(bytes int64) []string {
			return []string{"-listen=:80", fmt.Sprintf("-lines=%d", bytes/logLine), "-line-size=8000"}
		}},
		{"hosts", writeTo("/etc/hosts")},
		{"hostname", writeTo("/etc/hostname")},
		{"resolvconf", writeTo("/etc/resolv.conf")},
		{"message", writeTo("/dev/termination-log")},
	}
	memoryFills = []fillPlace{
		{"shm", writeTo("/dev/shm/file", "-write-rate=20Mi")},
		{"dev", writeTo("/dev/file", "-write-rate=20Mi")},
		{"tmpfs", writeTo("/memory/file", "-write-rate=20Mi")},
	}
)

// logLine is the length of a line of 8000 characters in a container's log, with time and stream.
const logLine = int64(len("2026-11-28T17:00:00.123456789Z stdout F ") + 8000 + 1)

// fillPlace is a place that a container can fill.
type fillPlace struct {
	name string
	args func(bytes int64) []string
}

func writeTo(file string, args ...string) func(int64) []string {
	return func(bytes int64) []string {
		return append([]string{"-listen=:80", fmt.Sprintf("-write=%d", bytes), "-write-to=" + file}, args...)
	}
}

// fillsConfig has large logs, because the log is one of the places.
const fillsConfig = constrainedKubeletConfig + "containerLogMaxSize: 1Gi\n"

// TestFills checks that a pod that fills a place it can write is evicted, and that no other pod is. The message must
// have its usage within 5 %. With BERTH_SOAK it fills each of the ten places ten times, in both runtimes.
func TestFills(t *testing.T) {
	t.Parallel()
	skipIfMissing(t, true)
	m := newNodeMachine(t)
	t.Run("embedded", func(t *testing.T) { m.testFills(t, true) })
	t.Run("containerd", func(t *testing.T) {
		if !soaking() {
			t.Skip("make soak runs it: it takes longer than with the embedded runtime")
		}
		skipIfMissing(t, false)
		m.testFills(t, false)
	})
}

// filledNode is a small node whose pods other than the current filling one must not be evicted.
type filledNode struct {
	*realNode
	host      *cgroup.Host
	innocents int
	fills     int
	worst     float64 // largest relative error of the usage in a message
}

func (m *nodeMachine) testFills(t *testing.T, useEmbedded bool) {
	disk, memory, rounds := []fillPlace{diskFills[0], diskFills[3]}, memoryFills[:1], 1
	if soaking() {
		disk, memory, rounds = diskFills, memoryFills, 10
	}
	host, err := cgroup.Detect()
	if err != nil {
		t.Fatal(err)
	}
	name := map[bool]string{true: "filled", false: "filled-cri"}[useEmbedded]
	n := &filledNode{host: host, realNode: m.add(t, useEmbedded, virtualnode.Options{Name: name, Memory: 640 << 20, Disk: 640 << 20, Pids: 700}, "")}
	n.agentArgs = []string{"--low-diskspace-threshold-mb", "0", "--config", n.write(name+".yaml", fillsConfig)}
	n.startAgent(t)
	n.addInnocent(t, "idle", nil, "-listen=:80")
	n.addInnocent(t, "stores", func(s *corev1.PodSpec, c *corev1.Container) {
		withScratch(s, c)
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("40Mi")}
	}, "-listen=:80", "-write=32Mi", "-write-to=/scratch/file")
	for range rounds {
		for _, f := range disk {
			n.fillDisk(t, f)
		}
	}
	n.addBallast(t)
	for range rounds {
		for _, f := range memory {
			n.fillMemory(t, f)
		}
	}
	if !t.Failed() {
		t.Logf("soak: %d fills of %d places, %s: each time only the filling pod was evicted, usage in the message within %.1f %%", n.fills, len(disk)+len(memory), name, n.worst*100)
	}
	n.deletePods(t)
	if code := n.agent.stop(); code != 0 {
		t.Errorf("the agent exited with code %d, want 0: %s", code, n.agent.out.String())
	}
}

// addInnocent starts a pod that must not be evicted, and returns it.
func (n *filledNode) addInnocent(t *testing.T, name string, change func(*corev1.PodSpec, *corev1.Container), args ...string) *corev1.Pod {
	t.Helper()
	n.innocents++
	n.createPod(t, name, change, args...)
	return n.waitForPhase(t, name, corev1.PodRunning, "")
}

// fillMargin is the part of a fill that exceeds the threshold. It is less than 5 % of the fill. The usage in a
// message is therefore within 5 % if it was measured after the threshold was crossed.
const fillMargin = 3 << 20

// fillDisk fills the disk slightly beyond the threshold, and checks the eviction.
func (n *filledNode) fillDisk(t *testing.T, f fillPlace) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(n.node.Disk, &s); err != nil {
		t.Fatal(err)
	}
	bytes := (int64(s.Bavail)-int64(s.Blocks/5))*s.Frsize + fillMargin
	if bytes < 25*fillMargin {
		t.Fatalf("%d bytes until the threshold, want more than %d", bytes, 25*fillMargin)
	}
	pod := n.createFill(t, f, bytes)
	n.checkFill(t, pod, "ephemeral-storage", corev1.NodeDiskPressure, func() int64 { return bytes })
}

// addBallast starts a pod that uses most of the node's memory, but not more than it requests.
func (n *filledNode) addBallast(t *testing.T) {
	t.Helper()
	used, err := n.host.WorkingSet(n.node.Cgroup)
	if err != nil {
		t.Fatal(err)
	}
	const remaining = 40 << 20 // until the threshold; /dev/shm has 64 MiB
	bytes := 640<<20 - 100<<20 - remaining - used
	pod := n.addInnocent(t, "ballast", func(_ *corev1.PodSpec, c *corev1.Container) {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(bytes+32<<20, resource.BinarySI)}
	}, "-listen=:80", fmt.Sprintf("-memory=%d", bytes))
	eventually(t, eventTimeout, func() error {
		if used := n.containerMemory(pod); used < bytes {
			return fmt.Errorf("the pod uses %d bytes, want %d", used, bytes)
		}
		return nil
	})
}

// containerMemory returns the memory of the pod's container that uses most.
func (n *filledNode) containerMemory(pod *corev1.Pod) (bytes int64) {
	children, _ := n.host.Children(agentpods.Cgroup(n.node.Cgroup, pod)) // none before it starts and after it is evicted
	for _, child := range children {
		if used, err := n.host.WorkingSet(child); err == nil {
			bytes = max(bytes, used)
		}
	}
	return bytes
}

// fillMemory fills a tmpfs, and checks the eviction against the largest usage of its container's cgroup.
func (n *filledNode) fillMemory(t *testing.T, f fillPlace) {
	t.Helper()
	pod := n.createFill(t, f, 64<<20)
	var maximum atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			maximum.Store(max(maximum.Load(), n.containerMemory(pod)))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	n.checkFill(t, pod, "memory", corev1.NodeMemoryPressure, maximum.Load)
}

// createFill creates the pod of a fill.
func (n *filledNode) createFill(t *testing.T, f fillPlace, bytes int64) *corev1.Pod {
	t.Helper()
	n.fills++
	name := fmt.Sprintf("%s-%d", f.name, n.fills)
	n.createPod(t, name, func(s *corev1.PodSpec, c *corev1.Container) {
		withScratch(s, c)
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "memory", MountPath: "/memory"})
	}, f.args(bytes)...)
	pod, err := n.client.CoreV1().Pods(n.name).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// checkFill checks that only the filling pod is evicted, with its usage, that the pressure ends, and that the other pods
// run without restarts. It deletes the pod.
func (n *filledNode) checkFill(t *testing.T, pod *corev1.Pod, shortage string, condition corev1.NodeConditionType, used func() int64) {
	t.Helper()
	p := n.waitForPhase(t, pod.Name, corev1.PodFailed, "Evicted")
	if want := "The node was low on resource: " + shortage; !strings.Contains(p.Status.Message, want) {
		t.Errorf("pod %s was evicted with %q, want %q in it", pod.Name, p.Status.Message, want)
	}
	reported, want := largestUsage(p.Status.Message), used()
	difference := float64(max(reported, want)-min(reported, want)) / float64(want)
	if n.worst = max(n.worst, difference); difference > 0.05 {
		t.Errorf("pod %s was evicted with %q, want usage within 5 %% of %d bytes, not %d", pod.Name, p.Status.Message, want, reported)
	}
	n.waitForCondition(t, condition, corev1.ConditionFalse)
	all, err := n.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	running := 0
	for _, p := range all {
		switch {
		case p.Name == pod.Name:
		case p.Status.Phase == corev1.PodRunning && p.Status.ContainerStatuses[0].RestartCount == 0:
			running++
		default:
			t.Errorf("pod %s is %s for %q (%s) after %s filled the node, want it running without restarts", p.Name, p.Status.Phase, p.Status.Reason, p.Status.Message, pod.Name)
		}
	}
	if running != n.innocents {
		t.Fatalf("%d other pods run, want %d", running, n.innocents)
	}
	if err := n.client.CoreV1().Pods(n.name).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}); err != nil {
		t.Fatal(err)
	}
}

// usageText matches a usage in the message of an eviction.
var usageText = regexp.MustCompile(`(?:was|were) using ([0-9.]+[A-Za-z]*[0-9]*)`)

// largestUsage returns the largest usage in the message of an eviction, in bytes.
func largestUsage(message string) (bytes int64) {
	for _, m := range usageText.FindAllStringSubmatch(message, -1) {
		if q, err := resource.ParseQuantity(m[1]); err == nil {
			bytes = max(bytes, q.Value())
		}
	}
	return bytes
}
