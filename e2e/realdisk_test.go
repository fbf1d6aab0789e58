package e2e

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/berthproject/berth/agent/cgroup"
	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/internal/testkit"
	"github.com/berthproject/berth/internal/testkit/container"
)

// smallDisks is the configuration of a node whose disks are tested.
const smallDisks = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
evictionHard: {nodefs.available: "20%", nodefs.inodesFree: "20%", imagefs.available: "20%", imagefs.inodesFree: "20%", memory.available: 1Mi}
evictionPressureTransitionPeriod: 1s
imageMinimumGCAge: 1ms
`

// diskNode is a real node whose pods and images are on a disk each.
type diskNode struct {
	*cluster
	runtime         *container.Runtime
	nodefs, imagefs string
	client          kubernetes.Interface
	images          []string // names of what can be pulled; the first is small
}

const diskNodeName = "disks"

func upDisks(t *testing.T) *diskNode {
	n := &diskNode{nodefs: container.Disk(t, 160<<20, 4000), imagefs: container.Disk(t, 256<<20, 0)}
	n.runtime = container.Start(t, func(o *containerd.Options) { o.Dir = filepath.Join(n.imagefs, "containerd") })
	host, err := cgroup.Find()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Make(n.runtime.Cgroup, cgroup.Limits{Memory: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	registry := container.Registry(t)
	for i, image := range []v1.Image{container.Image(t), large(t, 1), large(t, 2)} {
		name, err := registry.Add(fmt.Sprint("app", i), "1", image)
		if err != nil {
			t.Fatal(err)
		}
		n.images = append(n.images, name)
	}
	n.cluster = newHome(t).up()
	n.client = n.cluster.client()
	agent := n.start("agent", "--kubeconfig", n.credential(diskNodeName, "--node", diskNodeName),
		"--runtime-endpoint", "unix://"+n.runtime.Socket, "--root-dir", filepath.Join(n.nodefs, "agent"), "--cgroup", n.runtime.Cgroup,
		"--port", "0", "--low-diskspace-threshold-mb", "0", "--config", n.write("kubelet.yaml", smallDisks))
	agent.says("pods run in")
	return n
}

// large is an image that takes 25 MiB packed and as much unpacked: it cannot be compressed.
func large(t *testing.T, seed int64) v1.Image {
	t.Helper()
	data := make([]byte, 25<<20)
	rand.New(rand.NewSource(seed)).Read(data)
	program, err := os.ReadFile(testkit.Program(t, "agent/workload/program"))
	if err != nil {
		t.Fatal(err)
	}
	image, err := oci.Build(oci.Spec{Entrypoint: []string{"/workload"}, Layers: [][]oci.File{{
		{Path: "/data", Mode: 0o644, Data: data}, {Path: "/workload", Mode: 0o755, Data: program}}}})
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// run makes a pod on the node, whatever the scheduler thinks.
func (n *diskNode) run(t *testing.T, name, image string, args ...string) {
	t.Helper()
	grace := int64(1)
	_, err := n.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{NodeName: diskNodeName, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
			Volumes: []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
			Containers: []corev1.Container{{Name: "main", Image: image, Args: args,
				VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// until waits until the pod is in the phase, for the reason.
func (n *diskNode) until(t *testing.T, name string, phase corev1.PodPhase, reason string) *corev1.Pod {
	t.Helper()
	var p *corev1.Pod
	eventually(t, happenWithin, func() (err error) {
		if p, err = n.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return err
		}
		if p.Status.Phase != phase || p.Status.Reason != reason {
			return fmt.Errorf("pod %s is %s for %q (%s), want %s for %q", name, p.Status.Phase, p.Status.Reason, p.Status.Message, phase, reason)
		}
		return nil
	})
	return p
}

// pressed waits until the node is under disk pressure, or no longer.
func (n *diskNode) pressed(t *testing.T, want corev1.ConditionStatus) {
	t.Helper()
	eventually(t, happenWithin, func() error {
		node, err := n.client.CoreV1().Nodes().Get(t.Context(), diskNodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeDiskPressure && c.Status == want {
				return nil
			}
		}
		return fmt.Errorf("conditions %+v, want DiskPressure %s", node.Status.Conditions, want)
	})
}

// fill writes a file until so many percent of a disk are available, and returns its path.
func fill(t *testing.T, disk string, percent uint64) string {
	t.Helper()
	f, err := os.CreateTemp(disk, "filler-")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for {
		var s unix.Statfs_t
		if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
			t.Fatal(err)
		}
		if s.Bavail <= s.Blocks*percent/100 {
			return f.Name()
		}
		if _, err := f.Write(block[:min(uint64(len(block)), s.Bavail*uint64(s.Frsize))]); err != nil {
			return f.Name() // it is full
		}
		if err := f.Sync(); err != nil { // blocks are counted when they are there
			return f.Name()
		}
	}
}

// TestRealDisks fills the disks of a node, by bytes and by inodes: what nobody uses goes first, then the
// pod that took the room, and afterwards all is as before.
func TestRealDisks(t *testing.T) {
	t.Parallel()
	n := upDisks(t)
	n.run(t, "keeper", n.images[0], "-listen=:80")
	n.until(t, "keeper", corev1.PodRunning, "")
	t.Run("unused images go first", n.unusedImagesGoFirst)
	t.Run("inodes", func(t *testing.T) {
		n.run(t, "hoarder", n.images[0], "-listen=:80", "-inodes=3800", "-inodes-in=/scratch")
		if p := n.until(t, "hoarder", corev1.PodFailed, "Evicted"); !strings.Contains(p.Status.Message, "inodes") {
			t.Errorf("evicted with %q, want inodes to be named", p.Status.Message)
		}
		n.pressed(t, corev1.ConditionFalse)
	})
	t.Run("the last byte", func(t *testing.T) {
		n.run(t, "writer", n.images[0], "-listen=:80", "-write=1Gi", "-write-to=/scratch/file")
		if p := n.until(t, "writer", corev1.PodFailed, "Evicted"); !strings.Contains(p.Status.Message, "ephemeral-storage") {
			t.Errorf("evicted with %q, want ephemeral-storage to be named", p.Status.Message)
		}
		n.pressed(t, corev1.ConditionFalse)
	})
	n.until(t, "keeper", corev1.PodRunning, "")
	t.Run("a full disk takes no pods", n.aFullDiskTakesNoPods)
}

func (n *diskNode) unusedImagesGoFirst(t *testing.T) {
	for _, i := range []int{1, 2} {
		name := fmt.Sprint("done", i)
		n.run(t, name, n.images[i], "exit", "0")
		n.until(t, name, corev1.PodSucceeded, "")
	}
	filler := fill(t, n.imagefs, 15)
	want := []string{n.images[0], containerd.PauseImage}
	eventually(t, happenWithin, func() error {
		list, err := n.runtime.Service.ListImages(t.Context())
		var left []string
		for _, i := range list {
			left = append(left, i.RepoTags...)
		}
		if slices.Sort(left); err == nil && !slices.Equal(left, want) {
			err = fmt.Errorf("images left: %q, want those in use, %q", left, want)
		}
		return err
	})
	n.pressed(t, corev1.ConditionFalse)
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if out := n.home.run("explain", "node", diskNodeName, "--disk", "--kubeconfig", n.kubeconfig); out.code != 0 || !strings.Contains(out.stdout, "default/keeper") {
		t.Errorf("berth explain node --disk: %s", out)
	}
}

// aFullDiskTakesNoPods: there is nobody left to evict, so the pressure lasts as long as the file.
func (n *diskNode) aFullDiskTakesNoPods(t *testing.T) {
	if err := n.client.CoreV1().Pods("default").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, happenWithin, func() error {
		list, err := n.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d pods are left", len(list.Items))
		}
		return err
	})
	filler := fill(t, n.nodefs, 0)
	n.pressed(t, corev1.ConditionTrue)
	n.run(t, "late", n.images[0], "-listen=:80")
	if p := n.until(t, "late", corev1.PodFailed, "Evicted"); !strings.Contains(p.Status.Message, "The node had condition: [DiskPressure].") {
		t.Errorf("refused with %q", p.Status.Message)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	n.pressed(t, corev1.ConditionFalse)
	n.run(t, "again", n.images[0], "-listen=:80")
	n.until(t, "again", corev1.PodRunning, "")
}
