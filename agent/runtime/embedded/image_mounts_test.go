package embedded_test

import (
	"context"
	"strings"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/image/oci"
)

const volumeImage = "berth.test/volume:1"

// loadVolumeImage loads an image of two layers with hostile symbolic links.
func (h *harness) loadVolumeImage() {
	h.t.Helper()
	image, err := oci.Build(oci.Spec{Layers: [][]oci.File{
		{{Path: "/data/first", Mode: 0o666, Data: []byte("one\n")}, {Path: "/data/link", Link: "/data/first"}, {Path: "/escape", Link: "/etc/shadow"}, {Path: "/up", Link: "../../../../etc"}},
		{{Path: "/data/second", Mode: 0o666, Data: []byte("two\n")}},
	}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.Load(h.t, volumeImage, image)
}

// TestImageMount checks that a mounted image shows all layers, cannot be changed by a container with
// SYS_ADMIN, and is kept while the container exists.
func TestImageMount(t *testing.T) {
	h := newHarness(t, false)
	h.loadVolumeImage()
	sb, sandboxConfig := h.createSandbox("image-mount", nil)
	script := `cat /v/data/first /v/data/second /v/data/link /sub/second /file
touch /v/data/first || echo read-only; echo x > /v/data/second || echo read-only; mkdir /v/new || echo read-only
mount -o remount,rw /v && echo remounted
echo x > /v/data/second && echo WRITTEN
echo end
exec sleep 1000`
	c := shell("c", script)
	c.Linux.SecurityContext.Capabilities = &cri.Capability{AddCapabilities: []string{"SYS_ADMIN", "DAC_OVERRIDE"}}
	image := &cri.ImageSpec{Image: volumeImage}
	c.Mounts = []*cri.Mount{{ContainerPath: "/v", Image: image, Readonly: true}, {ContainerPath: "/sub", Image: image, ImageSubPath: "data", Readonly: true},
		{ContainerPath: "/file", Image: image, ImageSubPath: "data/first", Readonly: true}}
	id := h.run(sb, sandboxConfig, c)
	h.waitUntil("the script ends", func() bool { return strings.Contains(h.output(sandboxConfig, c), "\nend\n") })
	out := h.output(sandboxConfig, c)
	if !strings.HasPrefix(out, "one\ntwo\n") || strings.Count(out, "one\n") != 2 || strings.Count(out, "two\n") != 2 {
		t.Errorf("output %q, want the files of both layers", out)
	}
	if strings.Contains(out, "WRITTEN") || strings.Count(out, "\nread-only") != 3 {
		t.Errorf("output %q, want that all writes fail", out)
	}
	if users, err := h.Options.Images.Users(); err != nil || len(users) != 4 {
		t.Errorf("users of images %v, %v, want the container and its three mounts", users, err)
	}
	if err := h.Service.RemoveImage(context.Background(), image); err != nil {
		t.Fatal(err)
	}
	if got := h.exec(id, "cat", "/v/data/first"); got != "one\n" {
		t.Errorf("after the removal of the image: %q, want one", got)
	}
	if err := h.Service.RemoveContainer(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	if users, err := h.Options.Images.Users(); err != nil || len(users) != 0 {
		t.Errorf("users of images after the removal %v, %v, want none", users, err)
	}
	if remaining := h.remainingResources(); len(remaining) > 1 { // one of the sandbox
		t.Errorf("remaining mounts and processes: %q, want none of the container", remaining)
	}
}

// TestImageMountErrors checks subPaths that do not exist or that leave the image, and invalid requests.
func TestImageMountErrors(t *testing.T) {
	h := newHarness(t, false)
	h.loadVolumeImage()
	sb, sandboxConfig := h.createSandbox("image-mount-errors", nil)
	for sub, want := range map[string]string{"missing": "subPath missing: no such file", "escape": "subPath escape: no such file"} {
		c := config("c")
		c.Mounts = []*cri.Mount{{ContainerPath: "/v", Image: &cri.ImageSpec{Image: volumeImage}, ImageSubPath: sub}}
		if err := h.Service.StartContainer(context.Background(), h.create(sb, sandboxConfig, c)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("subPath %s: %v, want %q", sub, err, want)
		}
	}
	for want, m := range map[string]*cri.Mount{
		"must be a relative path without":    {ContainerPath: "/v", Image: &cri.ImageSpec{Image: volumeImage}, ImageSubPath: "data/../.."},
		"requires image":                     {ContainerPath: "/v", HostPath: h.Dir, ImageSubPath: "data"},
		"must be empty for image":            {ContainerPath: "/v", HostPath: h.Dir, Image: &cri.ImageSpec{Image: volumeImage}},
		"berth.test/missing:1":               {ContainerPath: "/v", Image: &cri.ImageSpec{Image: "berth.test/missing:1"}},
		"volumeMounts.mountPath \"v\": must": {ContainerPath: "v", Image: &cri.ImageSpec{Image: volumeImage}},
	} {
		c := config("c")
		c.Mounts = []*cri.Mount{m}
		if _, err := h.Service.CreateContainer(context.Background(), sb, c, sandboxConfig); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", m, err, want)
		}
	}
	// A link that leaves the image leads to the same path inside of it.
	c := shell("up", "exit 3")
	c.Mounts = []*cri.Mount{{ContainerPath: "/v", Image: &cri.ImageSpec{Image: volumeImage}, ImageSubPath: "up"}}
	if err := h.Service.StartContainer(context.Background(), h.create(sb, sandboxConfig, c)); err == nil || !strings.Contains(err.Error(), "subPath up: no such file") {
		t.Errorf("subPath up, a link to ../../../../etc: %v, want subPath up: no such file", err)
	}
}
