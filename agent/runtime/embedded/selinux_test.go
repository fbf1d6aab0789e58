package embedded

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestSELinuxOptions checks that SELinux options are ignored on a machine without SELinux, as in
// containerd.
func TestSELinuxOptions(t *testing.T) {
	o := &cri.SELinuxOption{Level: "s0:c0,c1"}
	if err := checkSELinux(o, false); err != nil {
		t.Errorf("without SELinux: %v, want no error", err)
	}
	if err := checkSELinux(o, true); status.Code(err) != codes.InvalidArgument {
		t.Errorf("with SELinux: %v, want InvalidArgument", err)
	}
	if selinuxEnabled() {
		return
	}
	sandbox := &cri.PodSandboxConfig{Linux: &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{SelinuxOptions: o}}}
	if err := checkSandboxSupported(sandbox, ""); err != nil {
		t.Errorf("sandbox: %v, want no error", err)
	}
	container := &cri.ContainerConfig{Linux: &cri.LinuxContainerConfig{SecurityContext: &cri.LinuxContainerSecurityContext{SelinuxOptions: o}}}
	if err := checkContainerSupported(container, false); err != nil {
		t.Errorf("container: %v, want no error", err)
	}
}
