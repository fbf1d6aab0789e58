package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/berthproject/berth/agent/mounts"
	"github.com/berthproject/berth/agent/runtime"
)

// fakeImages returns the mounts of one image.
type fakeImages struct {
	content  []runtime.ImageMount
	released []string
	err      error // of ReleaseImageMounts
}

func (f *fakeImages) MountsOfImage(context.Context, string, string, string) ([]runtime.ImageMount, error) {
	return f.content, nil
}

func (f *fakeImages) ReleaseImageMounts(_ context.Context, owner string) error {
	f.released = append(f.released, owner)
	return f.err
}

// imageVolumePod returns a pod that mounts an image, and its directory sub with a subPath.
func imageVolumePod(sub string) *corev1.Pod {
	pod := podWith(volume("files", corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "files:1"}}))
	c := &pod.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "files", MountPath: "/sub", SubPath: sub})
	return pod
}

// TestImageVolumeOfRuntime checks the mounts of an image that the runtime mounts.
func TestImageVolumeOfRuntime(t *testing.T) {
	h := newFixture(t)
	pod := imageVolumePod("data")
	h.prepare(pod)
	if _, _, err := h.Mounts(pod, &pod.Spec.Containers[0], nil); err == nil || !strings.Contains(err.Error(), `cannot find volume "files"`) {
		t.Errorf("Mounts before the pull: %v, want an error", err)
	}
	if err := h.MountImage(t.Context(), pod, "files", "sha256:1"); err != nil {
		t.Fatal(err)
	}
	got, _, err := h.Mounts(pod, &pod.Spec.Containers[0], nil)
	if err != nil || len(got) != 2 {
		t.Fatalf("Mounts: %v, %v, want two mounts", got, err)
	}
	for i, sub := range []string{"", "data"} {
		if m := got[i]; m.GetImage().GetImage() != "sha256:1" || m.HostPath != "" || m.ImageSubPath != sub || !m.Readonly {
			t.Errorf("mount %v, want image sha256:1, subPath %q, read-only", m, sub)
		}
	}
}

// TestImageVolumeOfSnapshot mounts the snapshot of an image on the node. It must be read-only, also with a
// subPath, and released after it is unmounted.
func TestImageVolumeOfSnapshot(t *testing.T) {
	lower, upper := t.TempDir(), t.TempDir()
	for _, dir := range []string{lower, upper} {
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, "one", lower, "data", "first")
	writeFile(t, "two", upper, "data", "second")
	for name, content := range map[string]runtime.ImageMount{
		"overlay": {Type: "overlay", Source: "overlay", Options: []string{"index=off", "lowerdir=" + upper + ":" + lower}},
		"bind":    {Type: "bind", Source: upper, Options: []string{"ro", "rbind"}},
	} {
		t.Run(name, func(t *testing.T) {
			images := &fakeImages{content: []runtime.ImageMount{content}}
			h := newFixture(t)
			h.opts.ImageMounts = images
			pod := imageVolumePod("data")
			h.prepare(pod)
			for range 2 { // idempotent
				if err := h.MountImage(t.Context(), pod, "files", "sha256:1"); err != nil {
					t.Fatal(err)
				}
			}
			got, _, err := h.Mounts(pod, &pod.Spec.Containers[0], nil)
			if err != nil || len(got) != 2 || got[0].Image != nil || !got[0].Readonly || !got[1].Readonly {
				t.Fatalf("Mounts: %v, %v, want two read-only host paths", got, err)
			}
			if text := readFile(t, got[1].HostPath, "second"); text != "two" {
				t.Errorf("file %q, want two", text)
			}
			for _, dir := range []string{filepath.Join(got[0].HostPath, "data"), got[1].HostPath} {
				if err := os.WriteFile(filepath.Join(dir, "second"), nil, 0o644); !errors.Is(err, unix.EROFS) {
					t.Errorf("writing to %s: %v, want EROFS", dir, err)
				}
			}
			images.err = errors.New("containerd is down")
			if err := h.Teardown(pod.UID); !errors.Is(err, images.err) {
				t.Errorf("Teardown: %v, want %v", err, images.err)
			}
			if points, err := mounts.At(h.root); err != nil || len(points) > 0 {
				t.Errorf("mounts %v, %v, want none before the release", points, err)
			}
			images.err = nil
			if err := h.Teardown(pod.UID); err != nil || len(images.released) != 2 {
				t.Errorf("second Teardown: %v, released %v, want two releases", err, images.released)
			}
		})
	}
}

// TestImageVolumeErrors checks a subPath that does not exist and snapshots of unknown types.
func TestImageVolumeErrors(t *testing.T) {
	images := &fakeImages{content: []runtime.ImageMount{{Type: "erofs", Source: "/dev/none"}}}
	h := newFixture(t)
	h.opts.ImageMounts = images
	pod := imageVolumePod("missing")
	if err := h.MountImage(t.Context(), pod, "files", "sha256:1"); err == nil || !strings.Contains(err.Error(), "not prepared") {
		t.Errorf("MountImage before Prepare: %v, want an error", err)
	}
	h.prepare(pod)
	if err := h.MountImage(t.Context(), pod, "files", "sha256:1"); err == nil || !strings.Contains(err.Error(), `unsupported snapshot of type "erofs"`) {
		t.Errorf("MountImage: %v, want an error with the type", err)
	}
	if err := h.Teardown(pod.UID); err != nil || len(images.released) != 1 {
		t.Errorf("Teardown after the error: %v, released %v, want the pod's mounts", err, images.released)
	}
	h.prepare(pod)
	images.content = []runtime.ImageMount{{Type: "bind", Source: t.TempDir()}}
	if err := h.MountImage(t.Context(), pod, "files", "sha256:1"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.Mounts(pod, &pod.Spec.Containers[0], nil); err == nil || !strings.Contains(err.Error(), `subPath "missing"`) {
		t.Errorf("Mounts: %v, want an error with the subPath", err)
	}
}
