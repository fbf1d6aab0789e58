package pods

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ensureImageVolumes pulls the images of the image volumes that the container mounts, as Images.Ensure
// does for the container's image. The reason of a failure becomes that of the waiting container.
func (p *pod) ensureImageVolumes(ctx context.Context, spec *corev1.Container, sandbox *cri.PodSandboxConfig) error {
	pod := p.latest()
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Image == nil || !slices.ContainsFunc(spec.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name }) {
			continue
		}
		if v.Image.Reference == "" {
			return &WaitingError{Reason: "CreateContainerConfigError", Message: "volume " + v.Name + ": image.reference: required"}
		}
		ref, err := p.runner.opts.Images.Ensure(ctx, pod, &corev1.Container{Image: v.Image.Reference, ImagePullPolicy: v.Image.PullPolicy}, sandbox)
		if err != nil {
			return err
		}
		if err := p.runner.opts.Volumes.MountImage(ctx, pod, v.Name, ref); err != nil {
			p.runner.recordEvent(pod, "", corev1.EventTypeWarning, "FailedMount", err.Error())
			return err
		}
	}
	return nil
}
