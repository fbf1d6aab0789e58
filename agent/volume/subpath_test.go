package volume

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/mounts"
)

// mountSubPath mounts a subPath of an emptyDir.
func (f *fixture) mountSubPath(sub string) (*corev1.Pod, []*cri.Mount, error) {
	f.t.Helper()
	pod := podWith(emptyDir("data"))
	f.prepare(pod)
	pod.Spec.Containers[0].VolumeMounts[0].SubPath = sub
	mounted, _, err := f.Mounts(pod, &pod.Spec.Containers[0], nil)
	return pod, mounted, err
}

// volumeDir returns the directory of the emptyDir of a pod.
func (f *fixture) volumeDir(pod *corev1.Pod) string {
	return filepath.Join(f.root, string(pod.UID), "volumes/kubernetes.io~empty-dir/data")
}

func TestSubPathIsCreatedAndMounted(t *testing.T) {
	h := newFixture(t)
	pod, mounted, err := h.mountSubPath("a/b")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, "hello", mounted[0].HostPath, "file")
	if got := readFile(t, h.volumeDir(pod), "a/b/file"); got != "hello" {
		t.Errorf("file in the volume %q, want \"hello\"", got)
	}
	if info, _ := os.Stat(filepath.Join(h.volumeDir(pod), "a")); info.Mode().Perm() != 0o777 {
		t.Errorf("mode of the created directory %v, want 0777 as the volume", info.Mode())
	}
	// Files and links that stay inside are bind-mounted as well.
	if err := os.Symlink("a/b/file", filepath.Join(h.volumeDir(pod), "link")); err != nil {
		t.Fatal(err)
	}
	if _, mounted, err = h.mountSubPath("link"); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, mounted[0].HostPath); got != "hello" {
		t.Errorf("file behind the link %q, want \"hello\"", got)
	}
}

func TestSubPathNeverLeavesItsVolume(t *testing.T) {
	h := newFixture(t)
	outside := t.TempDir()
	pod, _, err := h.mountSubPath("")
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"absolute": outside, "relative": "../../../../..", "root": "/", "proc": "/proc/self/root", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(h.volumeDir(pod), name)); err != nil {
			t.Fatal(err)
		}
	}
	const prepare = `failed to prepare subPath for volumeMount "data" of container "main": `
	for sub, want := range map[string]string{
		"absolute":     prepare + `subPath "absolute": path leaves the volume`,
		"absolute/new": prepare + `subPath "absolute/new": path leaves the volume`,
		"relative":     prepare + `subPath "relative": path leaves the volume`,
		"root/etc":     prepare + `subPath "root/etc": path leaves the volume`,
		"proc/etc":     prepare + `subPath "proc/etc": path leaves the volume`,
		"loop":         prepare + `subPath "loop": path leaves the volume`,
		"../data":      "unable to provision SubPath `../data`: must not contain '..'",
		"a/../../x":    "unable to provision SubPath `a/../../x`: must not contain '..'",
		"/etc":         `volumeMount "data": subPath "/etc": must be relative to the volume`,
	} {
		if _, mounted, err := h.mountSubPath(sub); err == nil || err.Error() != want {
			t.Errorf("subPath %q: %v, error %v\nwant %s", sub, mounted, err, want)
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("entries outside of the volume %v, want none", entries)
	}
	if points, _ := mounts.At(h.root); len(points) > 0 {
		t.Errorf("mounts %v, want none", points)
	}
}

// TestSubPathRace checks that a container never gets a directory of the node. Its pod repeatedly replaces a directory
// of the volume with a symbolic link to one.
func TestSubPathRace(t *testing.T) {
	h := newFixture(t)
	outside := t.TempDir()
	writeFile(t, "", outside, "secret")
	pod, _, err := h.mountSubPath("")
	if err != nil {
		t.Fatal(err)
	}
	inside, link := filepath.Join(h.volumeDir(pod), "part"), filepath.Join(h.volumeDir(pod), "link")
	if err := errors.Join(os.Mkdir(inside, 0o777), os.Symlink(outside, link)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, inside, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	})
	mounted := 0
	for range 200 {
		_, mounts, err := h.mountSubPath("part")
		if err != nil {
			if !strings.Contains(err.Error(), "path leaves the volume") && !strings.Contains(err.Error(), "resource temporarily unavailable") {
				t.Error(err)
			}
			continue
		}
		mounted++
		if exists(mounts[0].HostPath, "secret") {
			t.Fatal("the mounted directory is outside of the volume")
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d of 200 attempts mounted a directory", mounted)
}

func TestSubPathExpr(t *testing.T) {
	h := newFixture(t)
	pod := podWith(emptyDir("data"))
	h.prepare(pod)
	m := &pod.Spec.Containers[0].VolumeMounts[0]
	m.SubPathExpr = "logs/$(POD)"
	mounted, _, err := h.Mounts(pod, &pod.Spec.Containers[0], func(s string) (string, error) { return strings.ReplaceAll(s, "$(POD)", "web-0"), nil })
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, "x", mounted[0].HostPath, "file")
	if got := readFile(t, h.volumeDir(pod), "logs/web-0/file"); got != "x" {
		t.Errorf("file contents %q, want x", got)
	}
	for value, want := range map[string]string{
		"":      `volumeMount "data": subPathExpr "logs/$(POD)": expands to an empty path`,
		"../up": "unable to provision SubPath `../up`: must not contain '..'",
	} {
		_, _, err := h.Mounts(pod, &pod.Spec.Containers[0], func(string) (string, error) { return value, nil })
		if errorText(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	_, _, err = h.Mounts(pod, &pod.Spec.Containers[0], func(string) (string, error) { return "", errors.New("POD is not set") })
	if want := `volumeMount "data": subPathExpr "logs/$(POD)": POD is not set`; errorText(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestSubPathOfConfigMap checks that a repeated call replaces the mount, and that a missing subPath of a
// ConfigMap is not created.
func TestSubPathOfConfigMap(t *testing.T) {
	h := newFixture(t, configMap("conf", map[string]string{"app.ini": "a=1"}))
	pod := podWith(configMapVolume("conf", "conf"))
	h.prepare(pod)
	c := &pod.Spec.Containers[0]
	c.VolumeMounts[0].SubPath = "app.ini"
	for range 3 {
		mounted, _, err := h.Mounts(pod, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := readFile(t, mounted[0].HostPath); got != "a=1" || !mounted[0].Readonly {
			t.Errorf("mounted file %q, read-only %v, want a=1, read-only", got, mounted[0].Readonly)
		}
	}
	if points, err := mounts.At(h.root); len(points) != 1 || err != nil {
		t.Errorf("mounts %v, %v, want one", points, err)
	}
	c.VolumeMounts[0].SubPath = "none.ini"
	if _, _, err := h.Mounts(pod, c, nil); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("Mounts of a missing subPath: %v, want an error", err)
	}
}

func TestMountOptions(t *testing.T) {
	h := newFixture(t, configMap("conf", nil))
	pod := podWith(emptyDir("data"), configMapVolume("conf", "conf"))
	c := &pod.Spec.Containers[0]
	c.VolumeMounts[0].MountPath, c.VolumeMounts[0].ReadOnly = "relative", true
	c.VolumeMounts[0].RecursiveReadOnly = ptr.To(corev1.RecursiveReadOnlyEnabled)
	c.VolumeMounts[1].MountPropagation = ptr.To(corev1.MountPropagationHostToContainer)
	h.prepare(pod)
	mounted, devices, err := h.Mounts(pod, c, nil)
	if err != nil || len(mounted) != 2 || len(devices) != 0 {
		t.Fatalf("mounts %v, devices %v, %v, want two mounts and no device", mounted, devices, err)
	}
	if m := mounted[0]; m.ContainerPath != "/relative" || !m.Readonly || !m.RecursiveReadOnly || m.Propagation != cri.MountPropagation_PROPAGATION_PRIVATE {
		t.Errorf("mount of data %v, want /relative, recursively read-only and private", m)
	}
	if m := mounted[1]; m.ContainerPath != "/conf" || !m.Readonly || m.RecursiveReadOnly || m.Propagation != cri.MountPropagation_PROPAGATION_HOST_TO_CONTAINER {
		t.Errorf("mount of conf %v, want /conf, read-only with HostToContainer", m)
	}
	c.VolumeDevices = []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/x"}}
	if _, _, err := h.Mounts(pod, c, nil); errorText(err) != `volume "data": not a block device, but listed in volumeDevices of container "main"` {
		t.Errorf("Mounts with an invalid device: %v, want an error", err)
	}
	c.VolumeDevices, c.VolumeMounts[0].Name = nil, "other"
	if _, _, err := h.Mounts(pod, c, nil); errorText(err) != `cannot find volume "other" to mount into container "main"` {
		t.Errorf("Mounts of an unknown volume: %v, want an error", err)
	}
}
