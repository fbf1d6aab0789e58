package gc

import corev1 "k8s.io/api/core/v1"

// VolumeImages returns the images that pods use as volumes, for Options.VolumeImages.
func VolumeImages(pods []*corev1.Pod) (out []string) {
	for _, p := range pods {
		for i := range p.Spec.Volumes {
			if image := p.Spec.Volumes[i].Image; image != nil {
				out = append(out, image.Reference)
			}
		}
	}
	return out
}
