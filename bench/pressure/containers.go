package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/agent/image/oci"
	"github.com/berthproject/berth/agent/image/store"
	criclient "github.com/berthproject/berth/agent/runtime/cri"
	"github.com/berthproject/berth/agent/runtime/cri/containerd"
	"github.com/berthproject/berth/agent/runtime/embedded"
	"github.com/berthproject/berth/agent/runtime/embedded/criserver"
	"github.com/berthproject/berth/internal/testkit/fixtures"
)

// containers is a node whose memory consumers are containers of a private containerd or of
// the embedded runtime. The other pods remain plain processes.
type containers struct {
	processNode
	service *criclient.Client
	image   string
	destroy func(context.Context) error // nil if there is nothing to remove
	dir     string
}

// hogImage contains this program, which runs the test workload through fixtures.Main.
const hogImage = "berth.dev/bench-hog:1"

// newContainerNode creates a node with idle pods whose hogs are containers.
func newContainerNode(memory int64, pods int, useEmbedded bool) (node, error) {
	base, err := newProcessNode(memory, pods)
	if err != nil {
		return nil, err
	}
	c := containers{processNode: base.(processNode)}
	start := c.startContainerd
	if useEmbedded {
		start = c.startEmbedded
	}
	if c.dir, err = os.MkdirTemp("/tmp", "bp"); err == nil { // the path of a socket must be short
		err = start()
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return &c, nil
}

// startEmbedded creates an embedded runtime.
func (c *containers) startEmbedded() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	images, err := store.Open(c.dir+"/images", store.Options{})
	if err != nil {
		return err
	}
	if err := images.EnsureBuiltin(ctx); err != nil {
		return err
	}
	r, err := embedded.New(ctx, embedded.Options{Dir: c.dir + "/runtime", Images: images, Log: klog.Background()})
	if err != nil {
		return err
	}
	client, disconnect := criserver.Connect(r)
	c.service, c.image = client, store.TestProgramImage
	c.destroy = func(ctx context.Context) error {
		disconnect()
		return r.Destroy(ctx)
	}
	return nil
}

// startContainerd starts a private containerd and loads hogImage.
func (c *containers) startContainerd() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, _, err := containerd.Start(ctx, containerd.Options{Dir: c.dir})
	if err != nil {
		return err
	}
	c.service, c.destroy, c.image = r.Service(), r.Destroy, hogImage
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	image, err := oci.Build(oci.Spec{
		Layers:     [][]oci.File{{{Path: "/hog", Mode: 0o755, Data: self}}},
		Entrypoint: []string{"/hog"}, Env: []string{fixtures.TestProgramEnv},
	})
	if err != nil {
		return err
	}
	return r.Load(ctx, hogImage, image)
}

func (c *containers) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var err error
	if c.destroy != nil {
		err = c.destroy(ctx)
	}
	return errors.Join(err, c.processNode.close(), os.RemoveAll(c.dir))
}

// container is a memory consumer in a container.
type container struct {
	node    *containers
	pod     *fixtures.Pod
	sandbox string
	before  int64 // number of OOM kills on the machine before the start
	ended   chan struct{}
}

func (c *containers) startHog(rate int64) (hog, error) {
	pod, err := c.AddExternal(fixtures.Spec{Name: "hog", Memory: "64Mi"})
	if err != nil {
		return nil, err
	}
	uid := string(pod.Object.UID)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	labels := map[string]string{"io.kubernetes.pod.uid": uid, "io.kubernetes.container.name": "main"}
	config := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: "hog", Uid: uid, Namespace: "default"}, Labels: labels, LogDirectory: c.dir,
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent:    c.Cgroup(pod.Object),
			SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}},
		},
	}
	service := c.service
	sandbox, err := service.RunPodSandbox(ctx, config, "")
	if err != nil {
		return nil, err
	}
	id, err := service.CreateContainer(ctx, sandbox, &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: "main"}, Image: &cri.ImageSpec{Image: c.image}, Labels: labels,
		Args: []string{"-memory=64Gi", fmt.Sprint("-memory-rate=", rate)}, LogPath: filepath.Base(uid) + ".log",
		Linux: &cri.LinuxContainerConfig{Resources: &cri.LinuxContainerResources{OomScoreAdj: 1000}},
	}, config)
	if err != nil {
		return nil, err
	}
	before, err := countOOMKills()
	if err != nil {
		return nil, err
	}
	if err := service.StartContainer(ctx, id); err != nil {
		return nil, err
	}
	h := container{node: c, pod: pod, sandbox: sandbox, before: before, ended: make(chan struct{})}
	go h.watch(id)
	return h, nil
}

// watch waits until the runtime reports the end of the container.
func (h container) watch(id string) {
	for {
		status, err := h.node.service.ContainerStatus(context.Background(), id)
		if err != nil || status.State == cri.ContainerState_CONTAINER_EXITED {
			h.pod.MarkExited()
			close(h.ended)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (h container) exited() <-chan struct{} { return h.ended }

// oomKilled reports whether the kernel's OOM killer has killed a process of the machine since the start
// of the container. The counter of the container's cgroup is removed with the cgroup.
func (h container) oomKilled() (bool, error) {
	n, err := countOOMKills()
	return n > h.before, err
}

// countOOMKills returns the number of processes that the kernel's OOM killer has killed, including those
// in cgroups.
func countOOMKills() (int64, error) {
	const name = "oom_kill"
	data, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			return strconv.ParseInt(f[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("/proc/vmstat: no line %s", name)
}

func (h container) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	service := h.node.service
	return errors.Join(service.StopPodSandbox(ctx, h.sandbox), service.RemovePodSandbox(ctx, h.sandbox), h.pod.Remove())
}
