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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent/virtualnode"
)

// killTest is a node whose agent and container runtime are killed.
type killTest struct {
	*realNode
	started int             // number of created pods
	names   []string        // names of the pods that are not deleted, oldest first
	unknown int             // number of pods with an unknown exit status
	failed  map[string]bool // names of these pods
	out     string          // directory in which each start of a container writes a line
	// unrecorded counts, by pod, the kills of containerd while it may have started a container of the pod. It may not have
	// recorded that start, so the agent may have repeated it.
	unrecorded map[string]int
}

// testAgentKill repeatedly kills the agent and the container runtime while pods start, run, end and stop. It
// checks that no pod is lost, that none runs twice, and that no files, mounts or processes remain.
func (m *nodeMachine) testAgentKill(t *testing.T, useEmbedded bool) {
	rounds, pods := 2, 12
	switch {
	case soaking():
		rounds, pods = 20, 50
	case emulated():
		rounds, pods = 20, 10
	case useEmbedded:
		rounds = 1
	}
	k := m.newKillTest(t, useEmbedded)
	k.createPods(t, pods)
	for i := range rounds {
		k.churn(t, pods/5, i)
		k.agent.kill()
		k.startAgent(t)
		k.churn(t, pods/5, i+3)
		if k.daemon == nil {
			continue
		}
		k.recordStarting(t)
		if err := k.daemon.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	k.waitSettled(t)
	k.deletePods(t)
	if code := k.agent.stop(); code != 0 {
		t.Errorf("exit code %d of the agent, want 0: %s", code, k.agent.out.String())
	}
	if t.Failed() {
		return
	}
	subject := "agent and containerd killed %d times each"
	if useEmbedded {
		subject = "agent with the embedded runtime killed %d times"
	}
	fmt.Printf("soak: "+subject+" among %d pods that start, run and stop (%d in all): none lost, none run twice, no leftovers, %d with an unknown exit status\n", rounds, pods, k.started, k.unknown)
}

// newKillTest creates a node for testAgentKill.
func (m *nodeMachine) newKillTest(t *testing.T, useEmbedded bool) *killTest {
	t.Helper()
	skipIfMissing(t, useEmbedded)
	name := map[bool]string{true: "killed", false: "killed-cri"}[useEmbedded]
	k := &killTest{realNode: m.add(t, useEmbedded, virtualnode.Options{Name: name, Memory: 2 << 30, Disk: 1 << 30}, ""), failed: map[string]bool{}, unrecorded: map[string]int{}}
	k.out = filepath.Join(k.node.Disk, "out")
	if err := os.Mkdir(k.out, 0o755); err != nil {
		t.Fatal(err)
	}
	k.startAgent(t)
	return k
}

// createPods creates n pods. Every third one ends by itself, the others continue to run.
// Each start of a container writes a line to a file with the name of the pod.
func (k *killTest) createPods(t *testing.T, n int) {
	t.Helper()
	for range n {
		name, last := fmt.Sprintf("p%d", k.started), "exec sleep 3600"
		policy := corev1.RestartPolicyAlways
		if k.started%3 == 0 {
			last, policy = "sleep 0.3", corev1.RestartPolicyNever
		}
		k.started++
		k.createPod(t, name, func(s *corev1.PodSpec, c *corev1.Container) {
			s.RestartPolicy = policy
			s.Volumes = []corev1.Volume{{Name: "out", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: k.out}}},
				{Name: "mem", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}}
			c.Command = []string{"/bin/sh", "-c", "echo started >> /out/" + name + "; " + last}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "out", MountPath: "/out"}, {Name: "mem", MountPath: "/mem"}}
		})
		k.names = append(k.names, name)
	}
}

// churn deletes the n oldest pods and creates n new ones. It returns when some of the new
// pods have started. Their number differs in each round, so that the time of the following
// kill differs, too.
func (k *killTest) churn(t *testing.T, n, round int) {
	t.Helper()
	for _, name := range k.names[:n] {
		if err := k.client.CoreV1().Pods(k.name).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.names = k.names[n:]
	first := k.started
	k.createPods(t, n)
	want := round % (n + 1)
	eventually(t, eventTimeout, func() error {
		started := 0
		for i := first; i < k.started; i++ {
			if k.starts(fmt.Sprintf("p%d", i)) > 0 {
				started++
			}
		}
		if started < want {
			return fmt.Errorf("%d of %d new pods have started, want %d", started, n, want)
		}
		return nil
	})
}

// recordStarting records the pods that may have a container which containerd starts now.
func (k *killTest) recordStarting(t *testing.T) {
	t.Helper()
	all, err := k.pods(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if statuses := p.Status.ContainerStatuses; len(statuses) == 0 || statuses[0].State.Waiting != nil {
			k.unrecorded[p.Name]++
		}
	}
}

// maxStarts returns how often the container of a pod may have been started.
func (k *killTest) maxStarts(pod string, restarts int32) int {
	return int(restarts) + 1 + k.unrecorded[pod]
}

// starts returns the number of times that the container of a pod was started.
func (k *killTest) starts(pod string) int {
	lines, _ := os.ReadFile(filepath.Join(k.out, pod))
	return strings.Count(string(lines), "\n")
}

// waitSettled waits until all pods are in their final state and checks that each has run
// once.
func (k *killTest) waitSettled(t *testing.T) {
	t.Helper()
	eventually(t, 2*eventTimeout, func() error {
		all, err := k.pods(t.Context())
		if err != nil {
			return err
		}
		var names []string
		var errs []error
		k.unknown = 0
		for _, p := range all {
			names = append(names, p.Name)
			want := corev1.PodRunning
			if p.Spec.RestartPolicy == corev1.RestartPolicyNever {
				want = corev1.PodSucceeded
			}
			if exitUnknown(&p) {
				k.unknown++
				k.failed[p.Name] = true
				continue
			}
			if p.Status.Phase != want {
				errs = append(errs, fmt.Errorf("%s is %s, want %s: %+v", p.Name, p.Status.Phase, want, p.Status.ContainerStatuses))
			}
		}
		if !sameNames(names, k.names) {
			errs = append(errs, fmt.Errorf("pods %v, want %v", names, k.names))
		}
		return errors.Join(errs...)
	})
	k.checkRanOnce(t)
}

// checkRanOnce checks that no container ran twice. A container that ends by itself was started at
// most once. Any other container is running exactly once. It was restarted only if its runtime was killed
// while it started. Its status counts the restart, unless the runtime had not recorded the start.
func (k *killTest) checkRanOnce(t *testing.T) {
	t.Helper()
	for i := range k.started {
		name := fmt.Sprintf("p%d", i)
		exists, ends := slices.Contains(k.names, name), i%3 == 0
		if exists && !ends {
			eventually(t, eventTimeout, func() error { return k.checkRunsOnce(t.Context(), name) })
			continue
		}
		if n := k.starts(name); ends && n > k.maxStarts(name, 0) || exists && n == 0 && !k.failed[name] {
			t.Errorf("%s was started %d times, want once, at most %d times", name, n, k.maxStarts(name, 0))
		}
	}
}

// checkRunsOnce checks that a pod has one running container, and was started as often as its status reports. The status
// reports a new start only after it.
func (k *killTest) checkRunsOnce(ctx context.Context, name string) error {
	running, err := k.running(ctx)
	if err != nil {
		return err
	}
	p, err := k.client.CoreV1().Pods(k.name).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	status := p.Status.ContainerStatuses[0]
	if n := k.starts(name); n == 0 || n > k.maxStarts(name, status.RestartCount) || running[name] != 1 {
		return fmt.Errorf("pod %s: got %d starts, %d restarts and %d running containers, want 1 to %d starts and 1 running: %+v", name, n, status.RestartCount, running[name], k.maxStarts(name, status.RestartCount), status)
	}
	return nil
}

// exitUnknown reports whether the exit code of a container is unknown. Its runtime did not run when the container
// ended, or was killed while it started the container. The pod has failed, as with a kubelet, and does not run again.
func exitUnknown(p *corev1.Pod) bool {
	for _, s := range p.Status.ContainerStatuses {
		if e := s.State.Terminated; e != nil && (e.Reason == "Unknown" && e.ExitCode == 255 || startInterrupted(e)) {
			return p.Spec.RestartPolicy == corev1.RestartPolicyNever && p.Status.Phase == corev1.PodFailed
		}
	}
	return false
}

// startInterrupted reports whether containerd was killed while it started a container.
func startInterrupted(e *corev1.ContainerStateTerminated) bool {
	return e.Reason == "StartError" && strings.HasPrefix(e.Message, "failed to start containerd task") && strings.Contains(e.Message, "context canceled")
}

func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}
