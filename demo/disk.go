package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// writeRate is the writer's rate in bytes per second.
	writeRate = 40 * mib
	// minFreed is the increase of available space in bytes that indicates deleted images.
	minFreed = 32 * mib
)

// diskPressure shows that a node under disk pressure deletes unused images first, and then evicts
// the pod that fills the disk.
func diskPressure(ctx context.Context, s *session) error {
	node, err := s.createUnusedImage(ctx)
	if err != nil {
		return err
	}
	if err := s.createDeployment(ctx, deployment{name: "writer", replicas: 1, memory: 64 * mib, usage: 16 * mib, preferredNode: node}); err != nil {
		return err
	}
	writer, err := s.pods.waitReady(ctx, "writer", 1)
	if err != nil {
		return err
	}
	pod := writer[0].pod
	if pod.Spec.NodeName != node {
		return fmt.Errorf("%s prefers node %s and is on %s", pod.Name, node, pod.Spec.NodeName)
	}
	before, err := s.nodeStats(ctx, node)
	if err != nil {
		return err
	}
	s.printIndented("Now %s writes %s a second into its writable layer; %s of disk space are available on %s.", pod.Name, formatBytes(writeRate), formatBytes(before.diskFree), node)
	start := time.Now()
	t, err := s.increaseUsage(ctx, pod, []string{s.Program, "-write=64Gi", fmt.Sprintf("-write-rate=%d", writeRate), "-write-to=/filling"}, func(age time.Duration) string {
		return fmt.Sprintf("memory=16Mi;disk=0@%s,%d@%s", age, 60*writeRate, age+time.Minute)
	})
	if err != nil {
		return err
	}
	defer t.stop()
	if err := s.awaitImageDeletion(ctx, pod, t, start); err != nil {
		return err
	}
	s.printIndented("It continues to write, and there are no more images to delete.")
	if err := s.awaitEviction(ctx, pod, corev1.NodeDiskPressure, t, start); err != nil {
		return err
	}
	return s.awaitReplacement(ctx, "writer", pod, start)
}

// createUnusedImage returns a node with an image that no pod uses.
func (s *session) createUnusedImage(ctx context.Context) (node string, err error) {
	if !s.RunsProcesses {
		s.printIndented("Each node has images that no pod uses.")
		return s.Nodes[0], nil
	}
	before := map[string]int64{}
	for _, n := range s.Nodes {
		f, err := s.nodeStats(ctx, n)
		if err != nil {
			return "", err
		}
		before[n] = f.diskFree
	}
	if err := s.createDeployment(ctx, deployment{name: "visitor", replicas: 1, memory: 16 * mib, image: s.LargeImage}); err != nil {
		return "", err
	}
	visitor, err := s.pods.waitReady(ctx, "visitor", 1)
	if err != nil {
		return "", err
	}
	node = visitor[0].pod.Spec.NodeName
	if err := s.client.AppsV1().Deployments(Namespace).Delete(ctx, "visitor", metav1.DeleteOptions{}); err != nil {
		return "", err
	}
	var image *corev1.ContainerImage
	err = s.pods.waitFor(ctx, func() string {
		if len(s.pods.list("visitor")) > 0 {
			return "visitor still exists"
		}
		if image, err = s.imageOn(ctx, node); err != nil || image == nil {
			return fmt.Sprintf("node %s does not report image %s", node, s.LargeImage)
		}
		// Disk statistics are up to two seconds old.
		if current, err := s.nodeStats(ctx, node); err != nil || before[node]-current.diskFree < minFreed {
			return fmt.Sprintf("%s of disk space are available on %s, as before the pull", formatBytes(current.diskFree), node)
		}
		return ""
	})
	if err != nil {
		return "", err
	}
	s.printIndented("A pod has pulled image %s to %s and has ended; the image uses %s.", s.LargeImage, node, formatBytes(image.SizeBytes))
	return node, nil
}

// imageOn returns the large image in the node's status, or nil.
func (s *session) imageOn(ctx context.Context, node string) (*corev1.ContainerImage, error) {
	n, err := s.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for i := range n.Status.Images {
		if slices.Contains(n.Status.Images[i].Names, s.LargeImage) {
			return &n.Status.Images[i], nil
		}
	}
	return nil, nil
}

// awaitImageDeletion waits until the node has deleted unused images while the writer runs.
func (s *session) awaitImageDeletion(ctx context.Context, pod *corev1.Pod, t *usageIncrease, start time.Time) error {
	least, current := int64(1)<<62, nodeStats{}
	var failure error
	err := s.pods.waitFor(ctx, func() string {
		if observed := s.pods.get(pod.UID); !observed.failed.IsZero() {
			failure = fmt.Errorf("%s was evicted before the images were deleted: %s", pod.Name, observed.pod.Status.Message)
			return ""
		}
		if current, failure = s.nodeStats(ctx, pod.Spec.NodeName); failure != nil || current.diskFree > least+minFreed {
			return ""
		}
		least = min(least, current.diskFree)
		return fmt.Sprintf("%s of disk space are available on %s, and were at least %s%s", formatBytes(current.diskFree), pod.Spec.NodeName, formatBytes(least), t.errorSuffix())
	})
	if err := errors.Join(err, failure); err != nil {
		return err
	}
	s.printIndented("%s later, with %s available, the node has deleted unused images: %s are available, and %s still runs.", formatDuration(time.Since(start)), formatBytes(least), formatBytes(current.diskFree), pod.Name)
	if !s.RunsProcesses {
		return nil
	}
	return s.pods.waitFor(ctx, func() string {
		if image, err := s.imageOn(ctx, pod.Spec.NodeName); err != nil || image != nil {
			return fmt.Sprintf("node %s still has image %s", pod.Spec.NodeName, s.LargeImage)
		}
		return ""
	})
}
