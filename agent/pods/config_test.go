package pods

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/berthproject/berth/agent/cgroup"
)

func ptr[T any](v T) *T { return &v }

// createdConfigs returns the configurations of the pod's only container and of its sandbox.
func createdConfigs(t *testing.T, h *harness, pod *corev1.Pod) (*cri.ContainerConfig, *cri.PodSandboxConfig) {
	t.Helper()
	h.admit(pod)
	h.waitForStates(pod, "a=running")
	p, _ := h.runner.Pod(pod.Namespace, pod.Name)
	c, _ := p.Container("a")
	return h.service.Config(c.ID), h.service.SandboxConfig(pod.Name)
}

func TestContainerConfig(t *testing.T) {
	h := newHarness(t)
	pod := testPod("web", "a")
	pod.Labels = map[string]string{"app": "web"}
	pod.Spec.Hostname, pod.Spec.TerminationGracePeriodSeconds = "front", ptr(int64(7))
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr(int64(1)), RunAsGroup: ptr(int64(2)), FSGroup: ptr(int64(3)), SupplementalGroups: []int64{4},
		Sysctls: []corev1.Sysctl{{Name: "net.ipv4.tcp_syncookies", Value: "1"}}}
	c := &pod.Spec.Containers[0]
	c.Command, c.Args, c.WorkingDir = []string{"run", "$(X)"}, []string{"$(X)", "$(Y)"}, "/srv"
	c.Env = []corev1.EnvVar{{Name: "X", Value: "1"}}
	c.Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080, Protocol: corev1.ProtocolTCP}, {ContainerPort: 81}}
	c.TTY, c.Stdin = true, true
	c.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr(int64(9)), ReadOnlyRootFilesystem: ptr(true), AllowPrivilegeEscalation: ptr(false),
		Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}, Drop: []corev1.Capability{"ALL"}}}
	config, sandbox := createdConfigs(t, h, pod)
	s := config.GetLinux().GetSecurityContext()
	for field, ok := range map[string]bool{
		"command":          slices.Equal(config.Command, []string{"run", "1"}) && slices.Equal(config.Args, []string{"1", "$(Y)"}) && config.WorkingDir == "/srv",
		"terminal":         config.Tty && config.Stdin && !config.StdinOnce,
		"labels":           config.Labels["app"] == "web" && config.Labels[containerNameLabel] == "a" && config.Labels[podUIDLabel] == "uid-web" && config.Labels[nodeLabel] == "n1",
		"annotations":      config.Annotations[restartCountAnnotation] == "0" && config.Annotations[gracePeriodAnnotation] == "7",
		"log path":         config.LogPath == "a/0.log" && strings.HasSuffix(sandbox.LogDirectory, "/default_web_uid-web"),
		"user":             s.RunAsUser.GetValue() == 9 && s.RunAsGroup.GetValue() == 2 && slices.Equal(s.SupplementalGroups, []int64{3, 4}),
		"confinement":      s.ReadonlyRootfs && s.NoNewPrivs && !s.Privileged && len(s.MaskedPaths) > 0,
		"capabilities":     slices.Equal(s.Capabilities.AddCapabilities, []string{"NET_ADMIN"}) && slices.Equal(s.Capabilities.DropCapabilities, []string{"ALL"}),
		"seccomp":          s.Seccomp.ProfileType == cri.SecurityProfile_Unconfined,
		"namespaces":       s.NamespaceOptions.Pid == cri.NamespaceMode_CONTAINER && s.NamespaceOptions.Network == cri.NamespaceMode_POD,
		"sandbox":          sandbox.Hostname == "front" && sandbox.Linux.Sysctls["net.ipv4.tcp_syncookies"] == "1" && sandbox.Linux.SecurityContext.RunAsUser.GetValue() == 1,
		"ports":            len(sandbox.PortMappings) == 1 && sandbox.PortMappings[0].HostPort == 8080 && sandbox.PortMappings[0].ContainerPort == 80,
		"termination file": hasMountAt(config.Mounts, "/dev/termination-log"),
		"hosts file":       hasMountAt(config.Mounts, "/etc/hosts"),
		"oom score":        config.Linux.Resources.OomScoreAdj == 1000,
		"shares of 0":      config.Linux.Resources.CpuShares == 2,
	} {
		if !ok {
			t.Errorf("%s: container %v and sandbox %v, want the value of the pod", field, config, sandbox)
		}
	}
}

// TestHostNamespacesConfig checks the configurations of a privileged pod with the network, PID and IPC
// namespaces of the node.
func TestHostNamespacesConfig(t *testing.T) {
	h := newHarness(t, func(o *Options) { o.SeccompDefault = true })
	pod := testPod("agent", "a")
	pod.Spec.HostNetwork, pod.Spec.HostPID, pod.Spec.HostIPC = true, true, true
	pod.Spec.HostAliases = []corev1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"seven"}}}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: ptr(true)}
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	config, sandbox := createdConfigs(t, h, pod)
	n := sandbox.Linux.SecurityContext.NamespaceOptions
	if n.Network != cri.NamespaceMode_NODE || n.Pid != cri.NamespaceMode_NODE || n.Ipc != cri.NamespaceMode_NODE || !sandbox.Linux.SecurityContext.Privileged || sandbox.Hostname != "" || len(sandbox.PortMappings) > 0 {
		t.Errorf("sandbox %v, want the namespaces of the node and no ports", sandbox)
	}
	if s := config.Linux.SecurityContext; !s.Privileged || len(s.MaskedPaths) > 0 || s.Seccomp.ProfileType != cri.SecurityProfile_Unconfined {
		t.Errorf("security context %v, want a privileged, unconfined container", s)
	}
	if hosts, err := os.ReadFile(filepath.Join(h.runner.podDir(pod.UID), "etc-hosts")); err != nil || !strings.Contains(string(hosts), "192.0.2.7\tseven") {
		t.Errorf("hosts file %s, %v, want 192.0.2.7", hosts, err)
	}
}

func TestVerifyRunAsNonRoot(t *testing.T) {
	image := func(uid int64) *cri.Image { return &cri.Image{Uid: &cri.Int64Value{Value: uid}} }
	for name, tc := range map[string]struct {
		user  *int64
		image *cri.Image
		want  string
	}{
		"runAsUser is set":             {user: ptr(int64(5)), image: image(0)},
		"runAsUser is 0":               {user: ptr(int64(0)), image: image(5), want: "container's runAsUser breaks non-root policy"},
		"the image has a numeric user": {image: image(1000)},
		"the image runs as root":       {image: image(0), want: "container has runAsNonRoot and image will run as root"},
		"the image has no user":        {image: &cri.Image{}, want: "container has runAsNonRoot and image will run as root"},
		"the image has a user name":    {image: &cri.Image{Username: "www"}, want: "container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root"},
	} {
		pod := testPod("web", "a")
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: ptr(true), RunAsUser: tc.user}
		got := ""
		if err := verifyRunAsNonRoot(pod, &pod.Spec.Containers[0], tc.image); err != nil {
			got = err.Error()
		}
		if (got == "") != (tc.want == "") || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: error %q, want %q", name, got, tc.want)
		}
	}
}

func resourceList(kv ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(kv); i += 2 {
		out[corev1.ResourceName(kv[i])] = resource.MustParse(kv[i+1])
	}
	return out
}

func TestOOMScores(t *testing.T) {
	const capacity = 8 << 30
	sidecar := ptr(corev1.ContainerRestartPolicyAlways)
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		init   bool // want is the score of the init container
		want   int64
	}{
		"best effort": {change: func(*corev1.PodSpec) {}, want: 1000},
		"guaranteed": {change: func(s *corev1.PodSpec) {
			s.Containers[0].Resources.Limits = resourceList("cpu", "1", "memory", "1Gi")
			s.Containers[0].Resources.Requests = s.Containers[0].Resources.Limits
		}, want: -997},
		"node critical":          {change: func(s *corev1.PodSpec) { s.Priority = ptr(int32(systemNodeCritical)) }, want: -997},
		"a quarter":              {change: func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests = resourceList("memory", "2Gi") }, want: 750},
		"more than the node has": {change: func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests = resourceList("memory", "9Gi") }, want: 3},
		"minimal":                {change: func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests = resourceList("memory", "1") }, want: 999},
		"cpu only":               {change: func(s *corev1.PodSpec) { s.Containers[0].Resources.Requests = resourceList("cpu", "1") }, want: 999},
		"the pod's request is divided": {change: func(s *corev1.PodSpec) {
			s.Resources = &corev1.ResourceRequirements{Requests: resourceList("memory", "2Gi")}
		}, want: 750},
		"sidecar with a smaller request": {init: true, want: 500, change: func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: sidecar}}
			s.Containers[0].Resources.Requests = resourceList("memory", "4Gi")
		}},
		"sidecar with a larger request": {init: true, want: 250, change: func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "s", RestartPolicy: sidecar, Resources: corev1.ResourceRequirements{Requests: resourceList("memory", "6Gi")}}}
			s.Containers[0].Resources.Requests = resourceList("memory", "4Gi")
		}},
	} {
		pod := testPod("web", "a")
		tc.change(&pod.Spec)
		c := &pod.Spec.Containers[0]
		if tc.init {
			c = &pod.Spec.InitContainers[0]
		}
		if got := oomScore(pod, c, capacity); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestPodLimits(t *testing.T) {
	r := &Runner{opts: Options{PidsLimit: 100, Node: testNode}}
	for name, tc := range map[string]struct {
		requests, limits []corev1.ResourceList
		want             cgroup.Limits
	}{
		"best effort":                 {requests: []corev1.ResourceList{nil}, limits: []corev1.ResourceList{nil}, want: cgroup.Limits{CPUShares: 2, Pids: 100}},
		"all limited":                 {requests: []corev1.ResourceList{resourceList("cpu", "1", "memory", "1Gi"), resourceList("cpu", "500m", "memory", "1Gi")}, limits: []corev1.ResourceList{resourceList("cpu", "1", "memory", "1Gi"), resourceList("cpu", "500m", "memory", "1Gi")}, want: cgroup.Limits{CPUShares: 1536, CPUQuota: 150000, Memory: 2 << 30, Pids: 100}},
		"a container without a limit": {requests: []corev1.ResourceList{resourceList("cpu", "1"), nil}, limits: []corev1.ResourceList{resourceList("cpu", "1", "memory", "1Gi"), nil}, want: cgroup.Limits{CPUShares: 1024, Pids: 100}},
		"the minimum CPU shares":      {requests: []corev1.ResourceList{resourceList("cpu", "1m")}, limits: []corev1.ResourceList{resourceList("cpu", "1m")}, want: cgroup.Limits{CPUShares: 2, CPUQuota: 1000, Pids: 100}},
	} {
		pod := testPod("web")
		for i := range tc.requests {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: string(rune('a' + i)), Resources: corev1.ResourceRequirements{Requests: tc.requests[i], Limits: tc.limits[i]}})
		}
		if got := r.podLimits(pod); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func TestStopSignals(t *testing.T) {
	for s, want := range map[corev1.Signal]cri.Signal{corev1.SIGTERM: cri.Signal_SIGNAL_SIGTERM, corev1.SIGRTMINPLUS1: cri.Signal_SIGNAL_SIGRTMINPLUS1,
		corev1.SIGRTMAXMINUS14: cri.Signal_SIGNAL_SIGRTMAXMINUS14, corev1.SIGRTMAX: cri.Signal_SIGNAL_SIGRTMAX, "none": cri.Signal_SIGNAL_RUNTIME_DEFAULT} {
		if got := stopSignal(s); got != want {
			t.Errorf("stopSignal(%s) = %v, want %v", s, got, want)
		}
	}
}

// TestRunAsGroupWithoutUser checks that a container with runAsGroup has a user, which CRI requires.
func TestRunAsGroupWithoutUser(t *testing.T) {
	group := &cri.Int64Value{Value: 5}
	for name, tc := range map[string]struct {
		image    *cri.Image
		user     *cri.Int64Value // of the security context
		wantUser int64           // -1 if it has none
		wantName string
	}{
		"image without user":   {&cri.Image{}, nil, 0, ""},
		"image with user ID":   {&cri.Image{Uid: &cri.Int64Value{Value: 7}}, nil, 7, ""},
		"image with user name": {&cri.Image{Username: "ann"}, nil, -1, "ann"},
		"container with user":  {&cri.Image{Username: "ann"}, &cri.Int64Value{Value: 9}, 9, ""},
	} {
		s := &cri.LinuxContainerSecurityContext{RunAsGroup: group, RunAsUser: tc.user}
		setUserForGroup(s, tc.image)
		if got := s.RunAsUser; (got == nil) != (tc.wantUser < 0) || got != nil && got.Value != tc.wantUser || s.RunAsUsername != tc.wantName {
			t.Errorf("%s: user %v, name %q, want %d, %q", name, got, s.RunAsUsername, tc.wantUser, tc.wantName)
		}
	}
	withoutGroup := &cri.LinuxContainerSecurityContext{}
	if setUserForGroup(withoutGroup, &cri.Image{Username: "ann"}); withoutGroup.RunAsUser != nil || withoutGroup.RunAsUsername != "" {
		t.Errorf("without a group: %v, want no user, so that the image's group applies", withoutGroup)
	}
}
