package volume

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berthproject/berth/agent/mounts"
)

// uidSuffix returns a suffix that makes the UID of a pod unique.
func uidSuffix(i int) types.UID { return types.UID(fmt.Sprintf("-%d", i)) }

func TestTeardownRemovesAll(t *testing.T) {
	h := newFixture(t, secret(), configMap("conf", map[string]string{"a": "1"}))
	for _, restarted := range []bool{false, true} {
		pod := podWith(emptyDir("data"), memoryDir("memory"), secretVolume("secret"), configMapVolume("conf", "conf"))
		h.prepare(pod)
		for i := range pod.Spec.Containers[0].VolumeMounts[:2] {
			pod.Spec.Containers[0].VolumeMounts[i].SubPath = "part"
		}
		if _, _, err := h.Mounts(pod, &pod.Spec.Containers[0], nil); err != nil {
			t.Fatal(err)
		}
		openFile, err := os.Create(filepath.Join(h.root, string(pod.UID), "volumes/kubernetes.io~empty-dir/memory/busy"))
		if err != nil {
			t.Fatal(err)
		}
		defer openFile.Close()
		if restarted {
			h.restart(filepath.Dir(h.root))
		}
		if uids, err := h.Pods(); err != nil || !slices.Equal(uids, []types.UID{pod.UID}) {
			t.Errorf("pods on disk %v, %v, want %s", uids, err, pod.UID)
		}
		for range 2 { // idempotent
			if err := h.Teardown(pod.UID); err != nil {
				t.Fatal(err)
			}
		}
		uids, err := h.Pods()
		points, mountErr := mounts.At(h.root)
		if len(uids)+len(points) != 0 || err != nil || mountErr != nil {
			t.Errorf("pods %v and mounts %v after Teardown (%v, %v), want none", uids, points, err, mountErr)
		}
	}
}

// TestTeardownKeepsOtherData checks that Teardown unmounts mounts of other programs in a volume, but
// keeps their content and nested mounts.
func TestTeardownKeepsOtherData(t *testing.T) {
	h := newFixture(t)
	source := t.TempDir()
	nested := filepath.Join(source, "nested")
	if err := os.Mkdir(nested, 0o755); err != nil {
		t.Fatal(err)
	}
	mount := func(device, dir, kind string, flags uintptr) {
		t.Helper()
		if err := unix.Mount(device, dir, kind, flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	mount(source, source, "", unix.MS_BIND)
	t.Cleanup(func() { _ = unix.Unmount(source, unix.MNT_DETACH) })
	mount("", source, "", unix.MS_SHARED) // as on machines with systemd
	mount("tmpfs", nested, "tmpfs", 0)
	writeFile(t, "source", nested, "file")

	pod := podWith(emptyDir("data"))
	h.prepare(pod)
	target := filepath.Join(h.path(pod, "data"), "in")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	mount(source, target, "", unix.MS_BIND|unix.MS_REC)
	if err := h.Teardown(pod.UID); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, nested, "file"); got != "source" {
		t.Errorf("file contents after Teardown %q, want \"source\"", got)
	}
}

// TestNothingIsWrittenAfterTeardown checks that a refresh in progress writes nothing after Teardown.
func TestNothingIsWrittenAfterTeardown(t *testing.T) {
	h := newFixture(t, configMap("conf", map[string]string{"a": "1"}))
	pod := podWith(configMapVolume("conf", "conf"))
	h.prepare(pod)
	p := h.findPod(pod.UID)
	m := p.volumes["conf"]
	if err := h.Teardown(pod.UID); err != nil {
		t.Fatal(err)
	}
	if err := p.writePayload(&pod.Spec.Volumes[0], m, payload{"a": {data: []byte("2"), mode: 0o644}}); err != nil {
		t.Fatal(err)
	}
	if exists(h.root, string(pod.UID)) {
		t.Error("the directory of the pod exists after Teardown, want none")
	}
}
