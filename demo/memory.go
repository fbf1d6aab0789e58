package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/internal/conversion"
)

// leakRate is the leaky pod's growth in bytes per second.
const leakRate = 300 * mib

// memoryPressure shows that only the pod that uses up the node's memory is evicted, and that its
// replacement runs on another node.
func memoryPressure(ctx context.Context, s *session) error {
	if err := s.createDeployment(ctx, deployment{name: "steady", replicas: 3, memory: 128 * mib, usage: 96 * mib, spread: true}); err != nil {
		return err
	}
	if err := s.createDeployment(ctx, deployment{name: "leaky", replicas: 1, memory: 64 * mib, usage: 32 * mib}); err != nil {
		return err
	}
	steady, err := s.pods.waitReady(ctx, "steady", 3)
	if err != nil {
		return err
	}
	leaky, err := s.pods.waitReady(ctx, "leaky", 1)
	if err != nil {
		return err
	}
	pod := leaky[0].pod
	if err := s.pods.waitUntilOlder(ctx); err != nil {
		return err
	}
	before, err := s.nodeStats(ctx, pod.Spec.NodeName)
	if err != nil {
		return err
	}
	s.printIndented("%s requests 64Mi on %s, next to a pod of steady that stays within its request; %s of memory are available there.", pod.Name, pod.Spec.NodeName, formatBytes(before.memoryFree))
	s.printIndented("Now %s takes %s a second.", pod.Name, formatBytes(leakRate))
	start := time.Now()
	t, err := s.increaseUsage(ctx, pod, []string{s.Program, "-memory=64Gi", fmt.Sprintf("-memory-rate=%d", leakRate)}, func(age time.Duration) string {
		return fmt.Sprintf("memory=%d@%s,%d@%s", 32*mib, age, 32*mib+10*leakRate, age+10*time.Second)
	})
	if err != nil {
		return err
	}
	defer t.stop()
	if err := s.awaitEviction(ctx, pod, corev1.NodeMemoryPressure, t, start); err != nil {
		return err
	}
	if err := s.showReaction(ctx, pod.Spec.NodeName); err != nil {
		return err
	}
	if err := s.checkUnaffected(steady); err != nil {
		return err
	}
	s.printIndented("No pod of steady was touched: none restarted, none evicted.")
	if err := s.awaitReplacement(ctx, "leaky", pod, start); err != nil {
		return err
	}
	return s.showRecords(ctx, 1)
}

// awaitEviction waits until the node has evicted a pod.
func (s *session) awaitEviction(ctx context.Context, pod *corev1.Pod, condition corev1.NodeConditionType, t *usageIncrease, start time.Time) error {
	var observed podTimes
	if err := s.pods.waitFor(ctx, func() string {
		if observed = s.pods.get(pod.UID); observed.failed.IsZero() {
			return fmt.Sprintf("%s is %s%s", pod.Name, observed.pod.Status.Phase, t.errorSuffix())
		}
		return ""
	}); err != nil {
		return err
	}
	status := &observed.pod.Status
	if status.Reason != "Evicted" {
		return fmt.Errorf("%s ended as %s: %s, and was not evicted", pod.Name, status.Reason, status.Message)
	}
	s.pressure = &nodePressure{node: pod.Spec.NodeName, condition: condition}
	if c := conversion.DisruptionTarget(observed.pod); c != nil {
		// The condition's time is that of the status; pressure lasts a second longer than its cause.
		s.pressure.since = c.LastTransitionTime.Add(-time.Second)
	}
	s.printIndented("%s later the API has it as %s, %s:", formatDuration(observed.failed.Sub(start)), status.Phase, status.Reason)
	s.printIndented("  %s", strings.TrimSpace(status.Message))
	return nil
}

// showReaction prints how fast a real node reacted. Simulated nodes observe once a second.
func (s *session) showReaction(ctx context.Context, node string) error {
	if !s.RunsProcesses {
		s.printIndented("(Simulated nodes observe their usage once a second. Real nodes are notified by the kernel and kill within milliseconds.)")
		return nil
	}
	sum, err := s.nodeMetric(ctx, node, "berth_pressure_reaction_seconds_sum")
	if err != nil {
		return err
	}
	count, err := s.nodeMetric(ctx, node, "berth_pressure_reaction_seconds_count")
	if err != nil {
		return err
	}
	if count == 0 {
		return errors.New("the node's metrics count no kills")
	}
	s.printIndented("The node took %s from the notification to SIGKILL (berth_pressure_reaction_seconds).", formatDuration(time.Duration(sum/count*float64(time.Second))))
	return nil
}

// checkUnaffected returns an error if a pod was restarted, is not ready or was removed.
func (s *session) checkUnaffected(pods []podTimes) error {
	for _, p := range pods {
		current := s.pods.get(p.pod.UID)
		if !isReady(current.pod) || !current.removed.IsZero() {
			return fmt.Errorf("pod %s must not be affected, but is %s %s", p.pod.Name, current.pod.Status.Phase, current.pod.Status.Reason)
		}
		for _, c := range current.pod.Status.ContainerStatuses {
			if c.RestartCount > 0 {
				return fmt.Errorf("pod %s must not be affected, but was restarted", p.pod.Name)
			}
		}
	}
	return nil
}

func (s *session) awaitReplacement(ctx context.Context, app string, pod *corev1.Pod, start time.Time) error {
	replacements, err := s.pods.waitReady(ctx, app, 1)
	if err != nil {
		return err
	}
	node := replacements[0].pod.Spec.NodeName
	if node == pod.Spec.NodeName {
		return fmt.Errorf("the replacement %s was scheduled to %s, which had just evicted %s", replacements[0].pod.Name, node, pod.Name)
	}
	s.printIndented("Its replacement %s was bound to %s after %s and Ready after %s.", replacements[0].pod.Name, node, formatDuration(replacements[0].bound.Sub(start)), formatDuration(replacements[0].ready.Sub(start)))
	return nil
}
