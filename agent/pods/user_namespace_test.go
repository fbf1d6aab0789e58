package pods

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/userns"
	"github.com/berthproject/berth/internal/testkit"
)

// userNamespacePod returns a pod with its own user namespace.
func userNamespacePod(name string) *corev1.Pod {
	pod := testPod(name, "a")
	pod.Spec.HostUsers = ptr(false)
	return pod
}

// handlerWithUserNamespaces is a runtime handler as containerd 2.0 reports it.
func handlerWithUserNamespaces(name string, supported bool) *cri.RuntimeHandler {
	return &cri.RuntimeHandler{Name: name, Features: &cri.RuntimeHandlerFeatures{UserNamespaces: supported}}
}

// twoRanges gives the Runner two ranges of user IDs.
func twoRanges(t *testing.T) func(*Options) {
	return func(o *Options) {
		a, err := userns.NewAllocator(userns.Range{First: 1 << 17, Length: 1 << 17}, userns.DefaultIDsPerPod, filepath.Join(o.Root, "pods"))
		if err != nil {
			t.Fatal(err)
		}
		o.UserNamespaces = a
	}
}

// TestUserNamespaceIsRefused checks the status and event of a pod if its user namespace is not possible.
func TestUserNamespaceIsRefused(t *testing.T) {
	class := "strict"
	client := fake.NewClientset(&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Handler: "gvisor"})
	for name, tc := range map[string]struct {
		handlers []*cri.RuntimeHandler
		class    *string
		change   func(*Options)
		want     string
	}{
		"old runtime":         {nil, nil, twoRanges(t), "runtime does not support user namespaces"},
		"default handler":     {[]*cri.RuntimeHandler{handlerWithUserNamespaces("", false), handlerWithUserNamespaces("gvisor", true)}, nil, twoRanges(t), "runtime does not support user namespaces"},
		"handler of a class":  {[]*cri.RuntimeHandler{handlerWithUserNamespaces("", true), handlerWithUserNamespaces("gvisor", false)}, &class, twoRanges(t), `RuntimeClass handler "gvisor" does not support user namespaces`},
		"no ranges on a node": {[]*cri.RuntimeHandler{handlerWithUserNamespaces("", true)}, nil, func(*Options) {}, "the node has no user IDs for pods; the log of the agent has the reason"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, func(o *Options) { o.Client = client }, tc.change)
			h.service.SetHandlers(tc.handlers...)
			pod := userNamespacePod("web")
			pod.Spec.RuntimeClassName = tc.class
			h.admit(pod)
			h.waitForStates(pod, "a=starting(RefusedByRuntime)")
			h.waitUntil("the failure is reported", func() bool {
				return slices.Contains(h.events, "web/ FailedCreatePodSandBox: Failed to create pod sandbox: can't set `spec.hostUsers: false`, "+tc.want)
			})
			if n := h.count("RunPodSandbox web"); n != 0 {
				t.Errorf("created %d sandboxes, want none", n)
			}
		})
	}
}

// TestUserNamespace checks what the runtime receives and that pods have disjoint ranges. A pod keeps its range across a
// restart; its removal frees the range.
func TestUserNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "idmapped mounts require root")
	}
	h := newHarness(t, twoRanges(t))
	h.betweenRestarts = func() { twoRanges(t)(&h.opts) }
	h.service.SetHandlers(handlerWithUserNamespaces("", true))
	ids := func(pod *corev1.Pod, state string) string {
		t.Helper()
		h.waitForStates(pod, state)
		p, _ := h.runner.Pod(pod.Namespace, pod.Name)
		c, _ := p.Container("a")
		config, sandbox := h.service.Config(c.ID), h.service.SandboxConfig(pod.Name)
		want := sandbox.GetLinux().GetSecurityContext().GetNamespaceOptions().GetUsernsOptions()
		if got := config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetUsernsOptions(); got.String() != want.String() {
			t.Errorf("%s: container has %v, sandbox %v, want the same", pod.Name, got, want)
		}
		if len(config.GetMounts()) == 0 {
			t.Errorf("%s: no mounts, want those of the pod's files", pod.Name)
		}
		for _, m := range config.GetMounts() {
			if fmt.Sprint(m.GetUidMappings(), m.GetGidMappings()) != fmt.Sprint(want.GetUids(), want.GetGids()) {
				t.Errorf("%s: mount %s has mappings %v, %v, want those of the pod", pod.Name, m.GetContainerPath(), m.GetUidMappings(), m.GetGidMappings())
			}
		}
		if want.GetMode() == cri.NamespaceMode_NODE {
			return "node"
		}
		if len(want.GetUids()) != 1 || want.GetUids()[0].String() != want.GetGids()[0].String() || want.GetUids()[0].GetContainerId() != 0 || want.GetUids()[0].GetLength() != userns.DefaultIDsPerPod {
			t.Errorf("%s: %v, want one mapping of users and groups from 0 on", pod.Name, want)
		}
		return fmt.Sprint(want.GetUids()[0].GetHostId())
	}
	first, second, node := userNamespacePod("first"), userNamespacePod("second"), testPod("node", "a")
	h.admit(first)
	h.admit(second)
	h.admit(node)
	firstIDs, secondIDs := ids(first, "a=running"), ids(second, "a=running")
	if got := []string{firstIDs, secondIDs}; !slices.Contains(got, "131072") || !slices.Contains(got, "196608") {
		t.Errorf("first IDs %q, want 131072 and 196608", got)
	}
	if got := ids(node, "a=running"); got != "node" {
		t.Errorf("pod without a user namespace: %s, want that of the node", got)
	}
	third := userNamespacePod("third")
	h.admit(third)
	h.waitUntil("the third pod has no range", func() bool {
		return slices.Contains(h.events, "third/ FailedCreatePodSandBox: Failed to create pod sandbox: all 2 ranges of user IDs of the node are in use")
	})
	h.restart()
	h.service.KillSandbox("first") // its next sandbox needs the range
	if got := ids(first, "a=running#1"); got != firstIDs {
		t.Errorf("first pod after a restart: %s, want %s", got, firstIDs)
	}
	h.delete(second, 0)
	h.waitUntil("the pod is released", func() bool { return h.lifecycles[second.UID].released })
	h.runner.Forget(second.UID)
	if got := ids(third, "a=running"); got != secondIDs {
		t.Errorf("third pod: %s, want the range of the removed one, %s", got, secondIDs)
	}
}

// TestUserNamespaceVolumeIsRefused checks that the status of a container names a volume mount whose file
// system has no idmapped mounts.
func TestUserNamespaceVolumeIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		testkit.SkipOrFail(t, "root", "idmapped mounts require root")
	}
	h := newHarness(t, twoRanges(t), func(o *Options) { o.Volumes = procVolume{o.Volumes} })
	h.service.SetHandlers(handlerWithUserNamespaces("", true))
	pod := userNamespacePod("web")
	h.admit(pod)
	h.waitForStates(pod, "a=starting(CreateContainerConfigError)")
	h.waitUntil("the reason is reported", func() bool {
		for _, r := range h.reports {
			if text := fmt.Sprintf("%+v", r.Event); strings.Contains(text, "volume mount /data: /proc/sys/kernel: the file system proc does not support idmapped mounts") {
				return true
			}
		}
		return false
	})
}

// procVolume adds a mount of a directory in /proc.
type procVolume struct{ Volumes }

func (procVolume) Mounts(*corev1.Pod, *corev1.Container, func(string) (string, error)) ([]*cri.Mount, []*cri.Device, error) {
	return []*cri.Mount{{HostPath: "/proc/sys/kernel", ContainerPath: "/data"}}, nil, nil
}
