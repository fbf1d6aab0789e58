package containerd_test

import (
	"context"
	"strings"
	"testing"

	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/internal/testkit/container"
)

// A container runs in a daemon of its own, with a network, and nothing of it is left.
func TestARealContainer(t *testing.T) {
	r := container.Start(t, nil)
	r.Workload(t)
	_, id := r.Run(t, container.Pod{Name: "web", Args: []string{"-lines=2", "-exit=7", "-after=1ms"}})
	if s := r.Exited(t, id); s.ExitCode != 7 {
		t.Errorf("exit code %d, want 7", s.ExitCode)
	}
	if log := r.Log(t, "web"); !strings.Contains(log, " stdout F line 2 xxx") {
		t.Errorf("log is %q: want the second line in it", log)
	}

	sandbox, _ := r.Run(t, container.Pod{Name: "server", Args: []string{"-listen=:8080"}})
	s, err := r.Service.PodSandboxStatus(context.Background(), sandbox)
	if err != nil {
		t.Fatal(err)
	}
	_, caller := r.Run(t, container.Pod{Name: "caller", Command: []string{"/bin/sh", "-c",
		"until wget -q -O - http://" + s.GetNetwork().GetIp() + ":8080/; do sleep 0.05; done"}})
	if s := r.Exited(t, caller); s.ExitCode != 0 {
		t.Errorf("caller ended with %d: %s", s.ExitCode, r.Log(t, "caller"))
	}
	if log := r.Log(t, "caller"); !strings.Contains(log, "server") {
		t.Errorf("the caller got %q, want the server's host name", log)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for want, o := range map[string]containerd.Options{
		"must be an absolute path":       {Dir: "data"},
		"choose a shorter directory":     {Dir: "/" + strings.Repeat("d", 100)},
		"must be a network":              {Dir: "/d", PodCIDR: "10.0.0.0", Bridge: "b"},
		"of at least 4 addresses":        {Dir: "/d", PodCIDR: "10.0.0.7/24", Bridge: "b"},
		"without podCIDR":                {Dir: "/d", Bridge: "b"},
		"must be a name of 1 to 15 byte": {Dir: "/d", PodCIDR: "10.0.0.0/24", Bridge: "a-name-that-is-too-long"},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", o, err, want)
		}
	}
}
