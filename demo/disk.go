package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"
)

const (
	// writeRate is how much the writer writes a second.
	writeRate = 40 * mib
	// freedAtLeast tells images that go from noise: the writer only makes it less.
	freedAtLeast = 32 * mib
)

// disk: what nobody needs goes first, then the pod that fills the disk.
func disk(ctx context.Context, s *stage) error {
	node, err := s.leftover(ctx)
	if err != nil {
		return err
	}
	if err := s.deploy(ctx, troupe{name: "writer", replicas: 1, memory: 64 * mib, uses: 16 * mib, near: node}); err != nil {
		return err
	}
	writer, err := s.cast.ready(ctx, "writer", 1)
	if err != nil {
		return err
	}
	pod := writer[0].pod
	if pod.Spec.NodeName != node {
		return fmt.Errorf("%s prefers %s and has %s", pod.Name, node, pod.Spec.NodeName)
	}
	before, err := s.figures(ctx, node)
	if err != nil {
		return err
	}
	s.say("Now %s writes %s a second into its own layer; %s of disk are available on %s.", pod.Name, size(writeRate), size(before.diskFree), node)
	asked := time.Now()
	t, err := s.use(ctx, pod, []string{s.Program, "-write=64Gi", fmt.Sprintf("-write-rate=%d", writeRate), "-write-to=/filling"}, func(age time.Duration) string {
		return fmt.Sprintf("memory=16Mi;disk=0@%s,%d@%s", age, 60*writeRate, age+time.Minute)
	})
	if err != nil {
		return err
	}
	defer t.stop()
	if err := s.imagesFirst(ctx, pod, t, asked); err != nil {
		return err
	}
	s.say("It goes on, and there is nothing left to delete.")
	if err := s.evicted(ctx, pod, corev1.NodeDiskPressure, t, asked); err != nil {
		return err
	}
	return s.replaced(ctx, "writer", pod, asked)
}

// leftover is a node on which an image lies that nobody uses any more.
func (s *stage) leftover(ctx context.Context) (node string, err error) {
	if !s.Real {
		s.say("On each node lie images that no pod uses.")
		return s.Nodes[0], nil
	}
	before := map[string]int64{}
	for _, n := range s.Nodes {
		f, err := s.figures(ctx, n)
		if err != nil {
			return "", err
		}
		before[n] = f.diskFree
	}
	if err := s.deploy(ctx, troupe{name: "visitor", replicas: 1, memory: 16 * mib, image: s.Ballast}); err != nil {
		return "", err
	}
	visitor, err := s.cast.ready(ctx, "visitor", 1)
	if err != nil {
		return "", err
	}
	node = visitor[0].pod.Spec.NodeName
	if err := s.client.AppsV1().Deployments(Namespace).Delete(ctx, "visitor", metav1.DeleteOptions{}); err != nil {
		return "", err
	}
	var image *corev1.ContainerImage
	err = s.cast.until(ctx, func() string {
		if len(s.cast.of("visitor")) > 0 {
			return "visitor is still there"
		}
		if image, err = s.imageOn(ctx, node); err != nil || image == nil {
			return fmt.Sprintf("node %s does not tell of image %s", node, s.Ballast)
		}
		// Figures of disks are up to two seconds old.
		if now, err := s.figures(ctx, node); err != nil || before[node]-now.diskFree < freedAtLeast {
			return fmt.Sprintf("%s of disk are available on %s, as before the image came", size(now.diskFree), node)
		}
		return ""
	})
	if err != nil {
		return "", err
	}
	s.say("A pod has pulled image %s to %s, and is gone: %s that nobody needs.", s.Ballast, node, size(image.SizeBytes))
	return node, nil
}

// imageOn is the ballast as the node's status has it, nil if it is not there.
func (s *stage) imageOn(ctx context.Context, node string) (*corev1.ContainerImage, error) {
	n, err := s.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for i := range n.Status.Images {
		if slices.Contains(n.Status.Images[i].Names, s.Ballast) {
			return &n.Status.Images[i], nil
		}
	}
	return nil, nil
}

// imagesFirst waits until the node has freed what nobody needs, while the writer runs.
func (s *stage) imagesFirst(ctx context.Context, pod *corev1.Pod, t *trigger, asked time.Time) error {
	least, now := int64(1)<<62, figures{}
	var fault error
	err := s.cast.until(ctx, func() string {
		if was := s.cast.by(pod.UID); !was.failed.IsZero() {
			fault = fmt.Errorf("%s was evicted before the images were deleted: %s", pod.Name, was.pod.Status.Message)
			return ""
		}
		if now, fault = s.figures(ctx, pod.Spec.NodeName); fault != nil || now.diskFree > least+freedAtLeast {
			return ""
		}
		least = min(least, now.diskFree)
		return fmt.Sprintf("%s of disk are available on %s, and were at least %s%s", size(now.diskFree), pod.Spec.NodeName, size(least), t.why())
	})
	if err = errors.Join(err, fault); err != nil {
		return err
	}
	s.say("%s later, with %s available, the node has deleted unused images: %s are available, and %s still runs.", span(time.Since(asked)), size(least), size(now.diskFree), pod.Name)
	if !s.Real {
		return nil
	}
	return s.cast.until(ctx, func() string {
		if image, err := s.imageOn(ctx, pod.Spec.NodeName); err != nil || image != nil {
			return fmt.Sprintf("node %s still has image %s", pod.Spec.NodeName, s.Ballast)
		}
		return ""
	})
}
