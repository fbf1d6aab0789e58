package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSoakIdleCost checks the cost of an agent with 100 idle pods in one minute. The limits are 2 % of a core and 60
// MiB of resident memory. The memory includes mapped pages of the agent's executable file.
func TestSoakIdleCost(t *testing.T) {
	const pods, measured = 100, time.Minute
	if os.Getenv("BERTH_SOAK") == "" {
		t.Skip("make soak runs it: it takes minutes and needs an otherwise idle machine")
	}
	k := newNodeMachine(t).newKillTest(t, false)
	for i := range pods {
		k.createPod(t, fmt.Sprint("idle", i), func(s *corev1.PodSpec, c *corev1.Container) {
			s.RestartPolicy, c.Command = corev1.RestartPolicyAlways, []string{"/bin/sleep", "3600"}
		})
	}
	eventually(t, 5*time.Minute, func() error {
		list, err := k.client.CoreV1().Pods(k.name).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err == nil && len(list.Items) < pods {
			err = fmt.Errorf("%d of %d pods run", len(list.Items), pods)
		}
		return err
	})
	time.Sleep(70 * time.Second) // until the agent is idle; it releases pages of its executable file each minute
	pid := k.agent.cmd.Process.Pid
	before := cpuTime(t, pid)
	var private, file int64
	for end := time.Now().Add(measured); time.Now().Before(end); time.Sleep(5 * time.Second) {
		if p, f := resident(t, pid); p+f > private+file {
			private, file = p, f
		}
	}
	share := float64(cpuTime(t, pid)-before) / float64(measured) * 100
	fmt.Printf("soak: an agent with %d idle pods takes %.2f %% of a core, %d MiB private and %d MiB of its file\n", pods, share, private>>20, file>>20)
	if share > 2 || private+file > 60<<20 {
		t.Errorf("an agent with %d idle pods takes %.2f %% of a core and %d MiB, want at most 2 %% and 60 MiB", pods, share, (private+file)>>20)
	}
	k.deletePods(t)
}

// cpuTime returns the CPU time that a process has used.
func cpuTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	// utime and stime are fields 14 and 15, in hundredths of a second. Field 2 is a name in
	// parentheses, which may contain spaces.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// resident returns the resident memory of a process in bytes: private memory, and memory mapped
// from files.
func resident(t *testing.T, pid int) (private, file int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		t.Fatal(err)
	}
	var size, all, shared int64
	if _, err := fmt.Sscan(string(text), &size, &all, &shared); err != nil {
		t.Fatal(err)
	}
	page := int64(os.Getpagesize())
	return (all - shared) * page, shared * page
}
