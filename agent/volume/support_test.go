package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/berthproject/berth/internal/testkit"
)

// fixture has the volumes of a node with a fake API.
type fixture struct {
	*Volumes
	t      *testing.T
	client *fake.Clientset
	tokens int // number of requested tokens
}

// requireRoot skips the test without root.
func requireRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		testkit.SkipOrFail(t, "root", "mounting volumes and changing their owners requires root")
	}
}

// newFixture returns the volumes of a node. It requires root and removes all mounts when the test ends.
func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	requireRoot(t)
	h := &fixture{t: t, client: fake.NewClientset(objects...)}
	h.client.PrependReactor("create", "serviceaccounts", func(a k8stesting.Action) (bool, runtime.Object, error) {
		if a.GetSubresource() != "token" {
			return false, nil, nil
		}
		h.tokens++
		r := a.(k8stesting.CreateAction).GetObject().(*authenticationv1.TokenRequest).DeepCopy()
		r.Status.Token = fmt.Sprintf("token-%d of %s for %v", h.tokens, r.Spec.BoundObjectRef.Name, r.Spec.Audiences)
		r.Status.ExpirationTimestamp = metav1.NewTime(h.now().Add(time.Duration(*r.Spec.ExpirationSeconds) * time.Second))
		return true, r, nil
	})
	h.restart(t.TempDir())
	t.Cleanup(func() {
		uids, err := h.Pods()
		for _, uid := range uids {
			err = errors.Join(err, h.Teardown(uid))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return h
}

// restart replaces the Volumes with a new one for the directory.
func (f *fixture) restart(root string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelHostname: "n1"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{"memory": resource.MustParse("64Mi"), "cpu": resource.MustParse("2")}}}
	v, err := New(Options{Client: f.client, Root: root, Node: func() *corev1.Node { return node }})
	if err != nil {
		f.t.Fatal(err)
	}
	f.Volumes = v
}

// prepare prepares the volumes of a pod.
func (f *fixture) prepare(pod *corev1.Pod) {
	f.t.Helper()
	if err := f.Prepare(context.Background(), pod); err != nil {
		f.t.Fatal(err)
	}
}

// path returns the host path of a volume of the first container of a prepared pod.
func (f *fixture) path(pod *corev1.Pod, volume string) string {
	f.t.Helper()
	mounts, _, err := f.Mounts(pod, &pod.Spec.Containers[0], nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for i, m := range pod.Spec.Containers[0].VolumeMounts {
		if m.Name == volume {
			return mounts[i].HostPath
		}
	}
	f.t.Fatalf("no volume %q is mounted", volume)
	return ""
}

// podWith returns a pod whose container mounts each volume at /NAME.
func podWith(volumes ...corev1.Volume) *corev1.Pod {
	c := corev1.Container{Name: "main"}
	for _, v := range volumes {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "uid-1", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Volumes: volumes, Containers: []corev1.Container{c}, ServiceAccountName: "default"},
	}
}

func volume(name string, source corev1.VolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: source}
}

func emptyDir(name string) corev1.Volume {
	return volume(name, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
}

func configMapVolume(name, configMap string) corev1.Volume {
	return volume(name, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}}})
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, Data: data}
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t *testing.T, text string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func exists(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...))
	return err == nil
}
