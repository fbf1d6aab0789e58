package volume

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

func memoryDir(name string) corev1.Volume {
	return volume(name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})
}

func secretVolume(name string) corev1.Volume {
	return volume(name, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}})
}

func TestUsage(t *testing.T) {
	h := newFixture(t, configMap("conf", map[string]string{"a": "1"}), secret())
	limited := emptyDir("disk")
	limited.EmptyDir.SizeLimit = ptr.To(resource.MustParse("1Gi"))
	pod := podWith(limited, memoryDir("memory"), configMapVolume("conf", "conf"), secretVolume("secret"),
		volume("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}))
	h.prepare(pod)
	before := usages(t, h, pod)
	for _, name := range []string{"disk", "memory"} {
		dir := h.path(pod, name)
		writeFile(t, string(make([]byte, 1<<20)), dir, "file")
		if err := os.Link(filepath.Join(dir, "file"), filepath.Join(dir, "hardlink")); err != nil { // counts once
			t.Fatal(err)
		}
		if err := os.Symlink("/", filepath.Join(dir, "root")); err != nil { // is not followed
			t.Fatal(err)
		}
	}
	after := usages(t, h, pod)
	if len(after) != 4 {
		t.Errorf("usage of %d volumes, want all but the hostPath", len(after))
	}
	for name, want := range map[string]int64{"disk": 2, "memory": 3} { // a tmpfs counts each hard link
		bytes, inodes := after[name].Bytes-before[name].Bytes, after[name].Inodes-before[name].Inodes
		if bytes < 1<<20 || bytes > 1<<20+64<<10 || inodes != want {
			t.Errorf("usage of %s grew by %d bytes and %d inodes, want 1 MiB and %d", name, bytes, inodes, want)
		}
	}
	for name, want := range map[string]Usage{"disk": {Local: true, SizeLimit: 1 << 30}, "memory": {Memory: true}, "conf": {Local: true}, "secret": {Memory: true}} {
		u := after[name]
		if u.Local != want.Local || u.Memory != want.Memory || u.SizeLimit != want.SizeLimit || u.Claim != "" {
			t.Errorf("usage of %s %+v, want kind and limit of %+v", name, u, want)
		}
		if u.Bytes <= 0 && name != "secret" || u.Inodes <= 0 || u.Capacity < u.Available || u.Available <= 0 {
			t.Errorf("usage of %s %+v, want positive values below the capacity", name, u)
		}
	}
	if got, err := h.Usage("unknown"); got != nil || err != nil {
		t.Errorf("Usage of an unknown pod: %v, %v, want none", got, err)
	}
}

// usages returns the usage of the pod's volumes by name.
func usages(t *testing.T, h *fixture, pod *corev1.Pod) map[string]Usage {
	t.Helper()
	list, err := h.Usage(pod.UID)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Usage{}
	for _, u := range list {
		out[u.Name] = u
	}
	return out
}
