package embedded

import (
	"fmt"
	"strings"
	"testing"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestDialRefused checks the error for a port without a listener. It must not list the failed
// system calls.
func TestDialRefused(t *testing.T) {
	const port = 1 // unused
	s := &sandbox{record: sandboxRecord{Config: &cri.PodSandboxConfig{Linux: &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{
		NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}}}}}}
	want := fmt.Sprintf("connection refused: no process in the pod listens on 127.0.0.1:%d", port)
	if _, err := s.dial(port, dialTimeout); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("dial: %v, want %q", err, want)
	}
}
