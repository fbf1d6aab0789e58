package e2e

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/agent/image/oci"
)

// testMemoryEviction checks that a pod that uses too much memory is evicted, and no other pod. make bench-pressure
// measures the latency.
func (n *constrainedNode) testMemoryEviction(t *testing.T) {
	usage, capacity := n.usage(t)
	threshold := capacity - 100<<20
	stop, result := make(chan struct{}), make(chan string)
	go func() {
		var crossed, below time.Time
		var maximum int64
		for {
			select {
			case <-stop:
				result <- fmt.Sprintf("above the threshold for %.1f ms by at most %d MiB", float64(below.Sub(crossed).Microseconds())/1000, max(0, maximum-threshold)>>20)
				return
			case <-time.After(time.Millisecond):
			}
			used, err := usage()
			maximum = max(maximum, used)
			switch {
			case err != nil:
			case crossed.IsZero() && used > threshold:
				crossed = time.Now()
			case !crossed.IsZero() && below.IsZero() && used <= threshold:
				below = time.Now()
			}
		}
	}()
	n.createPod(t, "hog", nil, "-memory=4Gi", "-memory-rate=30Mi")
	n.checkOnlyEviction(t, "hog", "memory", corev1.NodeMemoryPressure)
	close(stop)
	t.Logf("a hog of 30 MiB/s on a node of %d MiB: %s", capacity>>20, <-result)
}

// testPIDEviction checks that a pod with too many processes is evicted, and no other pod.
func (n *constrainedNode) testPIDEviction(t *testing.T) {
	n.createPod(t, "bomb", nil, "-processes=-1")
	n.checkOnlyEviction(t, "bomb", "pids", corev1.NodePIDPressure)
}

// testInodeEviction checks that a pod with too many files is evicted, although another pod uses more bytes.
func (n *constrainedNode) testInodeEviction(t *testing.T) {
	n.createPod(t, "hoarder", withScratch, "-listen=:80", "-inodes=3800", "-inodes-in=/scratch")
	n.checkOnlyEviction(t, "hoarder", "inodes", corev1.NodeDiskPressure)
}

// testDiskEviction checks that a pod that fills the disk is evicted, although another pod uses more inodes. TestFills fills
// each place that a container can write.
func (n *constrainedNode) testDiskEviction(t *testing.T) {
	n.createPod(t, "writer", withScratch, "-listen=:80", "-write=1Gi", "-write-to=/scratch/file")
	n.checkOnlyEviction(t, "writer", "ephemeral-storage", corev1.NodeDiskPressure)
}

// testImageGCByInodes checks that an unused image with many files is removed when the disk has few free inodes.
func (n *constrainedNode) testImageGCByInodes(t *testing.T) {
	var files []oci.File
	for i := range 2000 {
		files = append(files, oci.File{Path: fmt.Sprintf("/many/%d", i), Mode: 0o644})
	}
	n.testImageGC(t, "many", files, func() {
		var s unix.Statfs_t
		if err := unix.Statfs(n.imagefs, &s); err != nil {
			t.Fatal(err)
		}
		for i := range int(s.Ffree) - int(s.Files*15/100) {
			if err := os.WriteFile(filepath.Join(n.imagefs, fmt.Sprint("filler-", i)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// testImageGCByBytes checks that a large unused image is removed when the disk has little free space.
func (n *constrainedNode) testImageGCByBytes(t *testing.T) {
	data := make([]byte, 25<<20) // does not compress
	rand.New(rand.NewSource(1)).Read(data)
	n.testImageGC(t, "large", []oci.File{{Path: "/data", Mode: 0o644, Data: data}}, func() { fill(t, n.imagefs, 15) })
	if emulated() {
		return // cgroup v1 runs check berth explain
	}
	out := n.testHome.run("explain", "node", n.name, "--disk", "--kubeconfig", n.kubeconfig)
	if out.code != 0 || !strings.Contains(out.stdout, n.name+"/bytes") {
		t.Errorf("berth explain node --disk: got %s, want exit code 0 and %s/bytes", out, n.name)
	}
}

// testImageGC runs an image once, fills the disk of the images, and checks that only this image is removed.
func (n *constrainedNode) testImageGC(t *testing.T, name string, files []oci.File, fill func()) {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	image, err := oci.Build(oci.Spec{Entrypoint: []string{"/busybox", "true"},
		Layers: [][]oci.File{append(files, oci.File{Path: "/busybox", Mode: 0o755, Data: program})}})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := n.registry.Add(name, n.name, image)
	if err != nil {
		t.Fatal(err)
	}
	n.createPod(t, "used-"+name, func(_ *corev1.PodSpec, c *corev1.Container) { c.Image = ref })
	n.waitForPhase(t, "used-"+name, corev1.PodSucceeded, "")
	n.waitForImage(t, ref, true)
	fill()
	n.waitForImage(t, ref, false)
	n.waitForImage(t, n.image, true)
	fillers, err := filepath.Glob(filepath.Join(n.imagefs, "filler-*"))
	if err != nil || len(fillers) == 0 {
		t.Fatalf("got filler files %v and error %v, want at least one", fillers, err)
	}
	for _, f := range fillers {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	n.waitForCondition(t, corev1.NodeDiskPressure, corev1.ConditionFalse)
	n.checkSurvivors(t)
}

// waitForImage waits until the status of the node lists an image or, if want is false, does not list it.
func (n *constrainedNode) waitForImage(t *testing.T, ref string, want bool) {
	t.Helper()
	eventually(t, eventTimeout, func() error {
		node, err := n.client.CoreV1().Nodes().Get(t.Context(), n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		exists := false
		for _, i := range node.Status.Images {
			for _, name := range i.Names {
				exists = exists || name == ref
			}
		}
		if exists != want {
			return fmt.Errorf("image %s exists: %v, want %v: %v", ref, exists, want, node.Status.Images)
		}
		return nil
	})
}

// fill writes a file that leaves the given percentage of the current space of a disk
// available, and returns its path. Space that is freed meanwhile remains free.
func fill(t *testing.T, disk string, percent uint64) string {
	t.Helper()
	f, err := os.CreateTemp(disk, "filler-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
		t.Fatal(err)
	}
	remaining := (int64(s.Bavail) - int64(s.Blocks*percent/100)) * s.Frsize
	for block := make([]byte, 64<<10); remaining > 0; {
		n, err := f.Write(block[:min(int64(len(block)), remaining)])
		if err == nil {
			err = f.Sync() // allocates the blocks
		}
		if err != nil {
			break // the disk is full
		}
		remaining -= int64(n)
	}
	return f.Name()
}

// testDiskPressureAdmission checks that a node with a full disk, whose agent is restarted, rejects pods until the file
// that fills the disk is removed.
func (n *constrainedNode) testDiskPressureAdmission(t *testing.T) {
	n.deletePods(t)
	filler := fill(t, n.node.Disk, 0)
	n.waitForCondition(t, corev1.NodeDiskPressure, corev1.ConditionTrue)
	n.agent.kill()
	n.startAgent(t)
	n.createPod(t, "late", nil, "-listen=:80")
	if p := n.waitForPhase(t, "late", corev1.PodFailed, "Evicted"); !strings.Contains(p.Status.Message, "The node had condition: [DiskPressure].") {
		t.Errorf("got message %q, want the condition DiskPressure", p.Status.Message)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	n.waitForCondition(t, corev1.NodeDiskPressure, corev1.ConditionFalse)
	n.createPod(t, "second", nil, "-listen=:80")
	n.waitForPhase(t, "second", corev1.PodRunning, "")
}
