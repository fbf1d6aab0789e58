package container

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/internal/testkit"
)

// WorkloadName is the name of the image that LoadWorkload loads. The built-in workload
// image has another name.
const WorkloadName = "berth.test/workload:1"

var workload struct {
	sync.Once
	image v1.Image
	err   error
}

// Image returns an image with the test program as its entrypoint and with a shell:
// /bin/sh and the other applets of busybox. User 1000 has the name "user".
func Image(t testing.TB) v1.Image {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		testkit.SkipOrFail(t, "busybox", "busybox is not on PATH: install busybox-static")
	}
	program := testkit.Program(t, "agent/testprogram/program")
	workload.Do(func() { workload.image, workload.err = buildImage(program, busybox) })
	if workload.err != nil {
		t.Fatal(workload.err)
	}
	return workload.image
}

// buildImage puts the programs into an image of two layers, because most images have
// several.
func buildImage(program, busybox string) (v1.Image, error) {
	shell, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	code, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, err
	}
	tools := []oci.File{
		{Path: "/bin/busybox", Mode: 0o755, Data: shell},
		{Path: "/etc/passwd", Mode: 0o644, Data: []byte("root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/:/bin/sh\n")},
		{Path: "/etc/group", Mode: 0o644, Data: []byte("root:x:0:\nuser:x:1000:\n")},
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			tools = append(tools, oci.File{Path: "/bin/" + applet, Link: "busybox"})
		}
	}
	return oci.Build(oci.Spec{
		Layers:     [][]oci.File{tools, {{Path: "/workload", Mode: 0o755, Data: code}}},
		Entrypoint: []string{"/workload"},
		Env:        []string{"PATH=/bin", "FROM_IMAGE=yes"},
	})
}

// LoadWorkload loads Image and returns its name.
func (r *Harness) LoadWorkload(t testing.TB) string {
	t.Helper()
	if err := r.load(context.Background(), WorkloadName, Image(t)); err != nil {
		t.Fatal(err)
	}
	return WorkloadName
}

// Load loads an image.
func (r *Harness) Load(t testing.TB, name string, image v1.Image) {
	t.Helper()
	if err := r.load(context.Background(), name, image); err != nil {
		t.Fatal(err)
	}
}

// Registry serves images until the test ends. It starts without images.
func Registry(t testing.TB) *oci.Registry {
	t.Helper()
	registry, err := oci.StartRegistry()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = registry.Close() })
	return registry
}
