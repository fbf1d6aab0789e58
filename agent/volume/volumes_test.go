package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berthproject/berth/agent/mounts"
)

func TestEmptyDirKeepsData(t *testing.T) {
	h := newFixture(t)
	pod := podWith(emptyDir("disk"), volume("memory", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
		Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("1Mi"))}}))
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: ptr.To(int64(4711))}
	h.prepare(pod)
	for _, name := range []string{"disk", "memory"} {
		dir := h.path(pod, name)
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if s := info.Sys().(*syscall.Stat_t); info.Mode() != os.ModeDir|os.ModeSetgid|0o777 || s.Gid != 4711 {
			t.Errorf("%s has mode %v and group %d, want 0777 with setgid and group 4711", name, info.Mode(), s.Gid)
		}
		writeFile(t, "data", dir, "file")
		if err := os.Chmod(dir, 0o700); err != nil { // as databases do
			t.Fatal(err)
		}
	}
	var s unix.Statfs_t
	if err := unix.Statfs(h.path(pod, "memory"), &s); err != nil || s.Type != unix.TMPFS_MAGIC || int64(s.Blocks)*s.Bsize != 1<<20 {
		t.Errorf("memory is a file system %#x of %d bytes (%v); want a tmpfs of 1 MiB", s.Type, int64(s.Blocks)*s.Bsize, err)
	}

	h.restart(filepath.Dir(h.root)) // the agent restarts and finds the pod
	h.prepare(pod)
	h.prepare(pod)
	for _, name := range []string{"disk", "memory"} {
		if got := readFile(t, h.path(pod, name), "file"); got != "data" {
			t.Errorf("file in %s after a restart %q, want data", name, got)
		}
		if info, err := os.Stat(h.path(pod, name)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode of %s after a restart %v, %v, want 0700", name, info.Mode(), err)
		}
	}
	points, err := mounts.At(h.root)
	if err != nil || len(points) != 1 {
		t.Errorf("mounts %v, %v, want one tmpfs", points, err)
	}
}

// TestMemorySize checks that the size of a memory volume is the smallest of its size limit, the pod's
// memory limit and the node's allocatable memory.
func TestMemorySize(t *testing.T) {
	h := newFixture(t)
	for name, tc := range map[string]struct {
		limit, pod string
		want       int64
	}{
		"node":   {want: 64 << 20},
		"pod":    {pod: "32Mi", want: 32 << 20},
		"volume": {pod: "32Mi", limit: "8Mi", want: 8 << 20},
		"huge":   {limit: "1Ti", want: 64 << 20},
	} {
		pod, source := podWith(), &corev1.EmptyDirVolumeSource{}
		if tc.pod != "" {
			pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse(tc.pod)}
		}
		if tc.limit != "" {
			source.SizeLimit = ptr.To(resource.MustParse(tc.limit))
		}
		if got := h.memorySize(pod, source); got != tc.want {
			t.Errorf("%s: %d bytes, want %d", name, got, tc.want)
		}
	}
}

func TestHostPathTypes(t *testing.T) {
	h := newFixture(t)
	dir := t.TempDir()
	writeFile(t, "", dir, "file")
	for _, tc := range []struct {
		path string
		kind corev1.HostPathType
		want string // error, "" for none
	}{
		{"none", corev1.HostPathUnset, ""},
		{"none", corev1.HostPathDirectory, "hostPath type check failed: " + dir + "/none is not a directory"},
		{"file", corev1.HostPathDirectory, "hostPath type check failed: " + dir + "/file is not a directory"},
		{"file", corev1.HostPathDirectoryOrCreate, "hostPath type check failed: " + dir + "/file is not a directory"},
		{"file", corev1.HostPathFile, ""},
		{"file", corev1.HostPathSocket, "hostPath type check failed: " + dir + "/file is not a socket file"},
		{"file", corev1.HostPathCharDev, "hostPath type check failed: " + dir + "/file is not a character device"},
		{"file", corev1.HostPathBlockDev, "hostPath type check failed: " + dir + "/file is not a block device"},
		{"new/sub", corev1.HostPathDirectoryOrCreate, ""},
		{"new/sub", corev1.HostPathDirectory, ""},
		{"new/file", corev1.HostPathFileOrCreate, ""},
		{"new/file", corev1.HostPathFile, ""},
		{"../../../../../../../../dev/null", corev1.HostPathCharDev, ""},
		{"file", "Pipe", `hostPath.type "Pipe": unknown; use Directory, DirectoryOrCreate, File, FileOrCreate, Socket, CharDevice or BlockDevice`},
	} {
		pod := podWith(volume("host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(dir, tc.path), Type: &tc.kind}}))
		err := h.Prepare(context.Background(), pod)
		want := tc.want
		if want != "" {
			want = `MountVolume.SetUp failed for volume "host" : ` + want
		}
		var e *Error
		if got := errorText(err); got != want || err != nil && (!errors.As(err, &e) || e.Reason != "FailedMount") {
			t.Errorf("%s as %q: error %q, want %q", tc.path, tc.kind, got, want)
		}
		if err := h.Teardown(pod.UID); err != nil {
			t.Error(err)
		}
	}
}

func TestUnsupportedKinds(t *testing.T) {
	h := newFixture(t)
	pod := podWith(volume("nfs", corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s", Path: "/"}}))
	want := `MountVolume.SetUp failed for volume "nfs" : unsupported kind of volume; use emptyDir, hostPath, persistentVolumeClaim, ephemeral, image, configMap, secret, downwardAPI or projected`
	if err := h.Prepare(context.Background(), pod); errorText(err) != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	pod = podWith(volume("pages", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumHugePages}}))
	want = `MountVolume.SetUp failed for volume "pages" : emptyDir.medium "HugePages": unsupported; use "" (disk) or "Memory"`
	if err := h.Prepare(context.Background(), pod); errorText(err) != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

// TestOnlyUsedVolumesAreSetUp checks that volumes that no container mounts are not set up and cannot
// block the pod.
func TestOnlyUsedVolumesAreSetUp(t *testing.T) {
	h := newFixture(t)
	pod := podWith(emptyDir("data"))
	pod.Spec.Volumes = append(pod.Spec.Volumes, configMapVolume("unused", "missing"))
	h.prepare(pod)
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "unused", MountPath: "/x"}}}}
	want := `MountVolume.SetUp failed for volume "unused" : configmap "missing" not found`
	if err := h.Prepare(context.Background(), pod); errorText(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestInvalidUIDs(t *testing.T) {
	h := newFixture(t)
	for _, uid := range []types.UID{"", ".", "..", "a/b", "../x", "/etc"} {
		if _, err := h.podDir(uid); err == nil {
			t.Errorf("podDir of UID %q succeeded, want an error", uid)
		}
		if err := h.Teardown(uid); err == nil {
			t.Errorf("Teardown of UID %q succeeded, want an error", uid)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
