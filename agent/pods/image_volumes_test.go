package pods

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/oci"
)

const volumeImage = "berth.test/volume:1"

// imageVolumePod returns a pod that mounts an image as a volume at /v, and its directory "data" at /sub.
func imageVolumePod(pod *corev1.Pod) *corev1.Pod {
	pod.Spec.Volumes = []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: volumeImage}}}}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "files", MountPath: "/v"}, {Name: "files", MountPath: "/sub", SubPath: "data"}}
	return pod
}

// TestRealImageVolume checks that an image volume shows all layers and is read-only even for a
// container with SYS_ADMIN, and that Forget releases its snapshot.
func TestRealImageVolume(t *testing.T) { forEachRuntime(t, realImageVolume) }

func realImageVolume(t *testing.T, r *realRuntime) {
	first := oci.File{Path: "/data/first", Mode: 0o666, Data: []byte("one")}
	second := oci.File{Path: "/data/second", Mode: 0o666, Data: []byte("two")}
	t.Run("two layers", func(t *testing.T) { realImageVolumeOf(t, r, []oci.File{first}, []oci.File{second}) })
	t.Run("one layer", func(t *testing.T) { realImageVolumeOf(t, r, []oci.File{first, second}) })
}

func realImageVolumeOf(t *testing.T, r *realRuntime, layers ...[]oci.File) {
	image, err := oci.Build(oci.Spec{Layers: layers})
	if err != nil {
		t.Fatal(err)
	}
	r.Load(t, volumeImage, image)
	h := newRealHarness(t, nil, r)
	pod := imageVolumePod(realPod("files", map[string][]string{"a": nil}))
	a := &pod.Spec.Containers[0]
	a.Command = []string{"/bin/sh", "-c", "echo $(cat /v/data/first /v/data/second /sub/second); echo x > /v/data/first || echo read-only; touch /sub/new || echo no-new; " +
		"mount -o remount,rw /v; mount -o remount,bind,rw /v; touch /v/new || echo done; sleep 3600"}
	a.SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	for _, want := range []string{"onetwotwo", "read-only", "no-new", "done"} {
		h.waitForLog(pod, "a", want)
	}
	h.delete(pod, 0)
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[pod.UID].released })
	h.runner.Forget(pod.UID)
	h.waitUntilRealPodRemoved(pod)
	if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(text), filepath.Join(r.Dir, "agent")) {
		t.Errorf("mountinfo (error %v)\n%swant no mount of the pod", err, text)
	}
	if _, err := r.Service.MountsOfImage(t.Context(), string(pod.UID), "files", volumeImage); err != nil {
		t.Errorf("new snapshot after the release: %v, want no error", err)
	}
	if err := r.Service.ReleaseImageMounts(t.Context(), string(pod.UID)); err != nil {
		t.Error(err)
	}
}

// failingVolumePuller fails to pull volumeImage.
type failingVolumePuller struct{ Images }

func (f failingVolumePuller) Ensure(ctx context.Context, pod *corev1.Pod, c *corev1.Container, sandbox *cri.PodSandboxConfig) (string, error) {
	if c.Image == volumeImage {
		return "", &WaitingError{Reason: "ErrImagePull", Message: "no such image"}
	}
	return f.Images.Ensure(ctx, pod, c, sandbox)
}

// TestImageVolumeWithoutImage checks that a container waits with the reason of the failed pull of a
// volume's image.
func TestImageVolumeWithoutImage(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.Images = failingVolumePuller{o.Images} })
	pod := imageVolumePod(testPod("files", "a", "b"))
	h.admit(pod)
	h.waitUntil("a waits and b runs", func() bool { return h.states(pod) == "a=starting(ErrImagePull) b=running" })
}
