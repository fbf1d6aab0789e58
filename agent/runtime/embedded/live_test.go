package embedded_test

import (
	"os/exec"
	"testing"

	"github.com/berthproject/berth/internal/testkit/container"
)

func TestFirst(t *testing.T) {
	r := container.StartEmbedded(t, false, nil)
	r.Workload(t)
	_, id := r.Run(t, container.Pod{Name: "one", HostNetwork: true, Args: []string{"-deaf", "-listen=:8099"}})
	out, _ := exec.Command("sh", "-c", "sleep 0.3; ps axf | grep -A5 berth- ; dmesg | tail -3").CombinedOutput()
	t.Log(string(out))
	s, err := r.Service.ContainerStatus(t.Context(), id)
	t.Log(s, err)
	t.Log(r.Log(t, "one"))
}
