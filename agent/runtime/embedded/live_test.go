package embedded_test

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/berthproject/berth/internal/testkit/container"
)

func TestFirst(t *testing.T) {
	r := container.StartEmbedded(t, true, nil)
	r.Workload(t)
	for i := range 20 {
		began := time.Now()
		r.Run(t, container.Pod{Name: fmt.Sprintf("p%d", i), Args: []string{"-listen=:80"}})
		fmt.Println(time.Since(began))
	}
	out, _ := exec.Command("sh", "-c", "sleep 1; for p in $(pgrep -f ^berth-shim | tail -3); do grep -E 'Rss|VmRSS|Threads' /proc/$p/status; done").CombinedOutput()
	t.Log(string(out))
}
